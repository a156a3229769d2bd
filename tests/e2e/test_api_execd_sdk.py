"""execd's calls that run things, by the unmodified SDK of OpenSandbox."""
import pytest
from api import Api, install_sdk

PROGRAM = """
const box = await Sandbox.connect({ connectionConfig: connection,
                                    sandboxId: process.argv[2] });
const got = {};
const run = await box.commands.run("echo one; echo; echo two >&2; exit 3",
                                   { workingDirectory: "/usr" });
got.run = [run.exitCode, run.logs.stdout.map(l => l.text),
           run.logs.stderr.map(l => l.text)];
const env = await box.commands.run("echo $A; pwd", {
  envs: { A: "b c" }, workingDirectory: "/usr" });
got.env = [env.exitCode, env.logs.stdout.map(l => l.text)];
const late = await box.commands.run("sleep 79.5", { timeoutSeconds: 0.3 });
got.late = late.exitCode;

const back = await box.commands.run("echo begun; sleep 80.5",
                                    { background: true });
const pause = () => new Promise(done => setTimeout(done, 20));
let logs = { content: "" };
for (let i = 0; i < 3000 && !logs.content; i++, await pause())
  logs = await box.commands.getBackgroundCommandLogs(back.id);
got.logs = [logs.content, logs.cursor];
got.running = (await box.commands.getCommandStatus(back.id)).running;
await box.commands.interrupt(back.id);
let status = { running: true };
for (let i = 0; i < 3000 && status.running; i++, await pause())
  status = await box.commands.getCommandStatus(back.id);
got.ended = [status.running, status.exitCode, status.finishedAt instanceof Date];

let name = null;
const slow = [];
for await (const event of box.commands.runStream("echo up; sleep 81.5")) {
  if (event.type === "init") name = event.text;
  if (event.type === "stdout") await box.commands.interrupt(name);
  if (event.type !== "ping") slow.push(event.type);
}
got.interrupted = slow;

const session = await box.commands.createSession({ workingDirectory: "/usr" });
await box.commands.runInSession(session, "export A=kept; cd lib; f() { echo $A; }");
const next = await box.commands.runInSession(session, "f; pwd; exit 4");
got.session = [next.exitCode, next.logs.stdout.map(l => l.text)];
await box.commands.deleteSession(session);
try { await box.commands.runInSession(session, "true"); }
catch (error) { got.gone = [error.constructor.name, error.statusCode,
                            error.error.code]; }
try { await box.commands.run("x", { uid: 54321 }); }
catch (error) { got.uid = [error.statusCode, error.error.code]; }

const metrics = await box.getMetrics();
got.metrics = metrics.cpuCount > 0 && metrics.memoryTotalMiB > 0 &&
  metrics.memoryUsedMiB > 0 && metrics.timestamp > 0;
got.healthy = await box.isHealthy();
await box.close();
console.log(JSON.stringify(got));
"""


@pytest.fixture(scope="module")
def host(gateway, tmp_path_factory):
    host = Api(gateway, tmp_path_factory.mktemp("execd")).start()
    yield host
    host.stop()
    host.check()


def test_the_sdk_runs_commands_and_sessions(host, tmp_path):
    got = host.node(install_sdk(tmp_path), PROGRAM, host.make())
    assert got == {
        "run": [3, ["one", "\n"], ["two"]],
        "env": [0, ["b c", "/usr"]],
        "late": -1,
        "logs": ["begun\n", 6],
        "running": True,
        "ended": [False, -1, True],
        "interrupted": ["init", "stdout", "error"],
        "session": [4, ["kept", "/usr/lib"]],
        "gone": ["SandboxApiException", 404, "CONTEXT_NOT_FOUND"],
        "uid": [501, "NOT_SUPPORTED"],
        "metrics": True, "healthy": True,
    }
