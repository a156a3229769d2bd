#include "cli/policy/which.h"

bool policy_which_take(struct policy_which *which, int option,
		       const char *value)
{
	switch (option) {
	case 'p':
		which->policy = value;
		return true;
	case 'r':
		which->repo = value;
		return true;
	case 'b':
		which->branch = value;
		return true;
	case 'g':
		which->guardrail = value;
		return true;
	default:
		return false;
	}
}

struct policy_variables policy_which_variables(const struct policy_which *which,
					       const char *session_id)
{
	return (struct policy_variables){
		.session_id = bytes_str(session_id),
		.branch = bytes_str(which->branch),
		.repo = bytes_str(which->repo),
	};
}
