/* Agents: each serves one channel inside, until its other end is closed. */
#include <stdlib.h>
#include <unistd.h>

#include "sandbox-host/supervisor/parts.h"

struct agent {
	struct supervisor *supervisor;
	struct waiting *waiting;
	struct rpc_ticket ticket; /* until it is answered */
	int channel;		  /* the asker's end, until it has it */
	pid_t pid;		  /* inside; 0: it does not run yet */
};

static void free_agent(struct agent *agent)
{
	inside_forget(agent->supervisor, agent->waiting);
	if (agent->channel >= 0)
		(void)close(agent->channel);
	free(agent);
}

static void on_started(struct agent *agent, const struct service_word *word)
{
	const struct wire_empty empty = {0};

	agent->pid = word->pid;
	service_know(agent->supervisor->sandbox, agent->pid, true);
	rpc_reply(agent->ticket, &wire_empty_schema, &empty, agent->channel);
	(void)close(agent->channel);
	agent->channel = -1;
}

static void on_word(struct service_word *word, void *owner)
{
	struct agent *agent = owner;

	if (word->kind == SERVICE_STARTED) {
		on_started(agent, word);
		return;
	}
	if (agent->pid > 0)
		service_know(agent->supervisor->sandbox, agent->pid, false);
	else
		rpc_refuse(agent->ticket, HOST_REFUSED_FULL, "%s",
			   word->err.text);
	free_agent(agent);
}

static int start(struct agent *agent, struct err *err)
{
	int ends[2];
	int result;

	if (io_message_pair(ends, err) < 0)
		return -1;
	agent->channel = ends[0];
	agent->waiting = inside_wait(agent->supervisor, on_word, agent);
	result = agent->waiting
			 ? service_agent(agent->supervisor->sandbox,
					 agent->waiting->serial, ends[1], err)
			 : err_set(err, ERR_TOO_LARGE, "too many agents");
	(void)close(ends[1]);
	return result;
}

void agents_open(struct supervisor *supervisor, struct rpc_ticket ticket)
{
	struct agent *agent = calloc(1, sizeof(*agent));
	struct err err;

	if (!agent) {
		rpc_refuse(ticket, HOST_REFUSED_FULL, "no memory");
		return;
	}
	*agent = (struct agent){
		.supervisor = supervisor, .ticket = ticket, .channel = -1};
	if (start(agent, &err) == 0)
		return;
	rpc_refuse(ticket, HOST_REFUSED_FULL, "%s", err.text);
	free_agent(agent);
}
