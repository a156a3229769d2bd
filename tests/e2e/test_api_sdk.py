"""All of OpenSandbox's SDK for JavaScript, unmodified: each method that its
own declarations name is called at least once, and answers what it should."""
import pathlib
import re

import pytest
from api import Api, install_sdk

PACKAGE = "node_modules/@alibaba-group/opensandbox/dist"
KINDS = ("Sandbox", "SandboxManager", "Sandboxes", "SandboxFiles",
         "ExecdCommands", "ExecdHealth", "ExecdMetrics", "Egress",
         "CredentialVault", "IsolationService", "IsolationSession",
         "AdapterFactory")

PROGRAM = """
const called = new Set(), got = {};
const watch = (kind, object) => new Proxy(object, {
  get(target, name) {
    const value = target[name];
    if (typeof value !== "function") return value;
    return (...words) => {
      called.add(`${kind}.${String(name)}`);
      return value.apply(target, words);
    };
  } });
const spec = { connectionConfig: connection, image: "host",
               resource: { cpu: "1", memory: "512Mi" } };
const Boxes = watch("static Sandbox", Sandbox);
const Managers = watch("static SandboxManager", SandboxManager);
const pause = () => new Promise(done => setTimeout(done, 50));
async function until(what) {
  for (let i = 0; i < 1200; i++, await pause()) {
    const seen = await what();
    if (seen) return seen;
  }
  throw new Error("it never came: " + what);
}
const ready = manager => async id => await until(async () =>
  (await manager.getSnapshot(id)).status.state === "Ready");

// ---- a sandbox ----
const made = await Boxes.create({ ...spec, metadata: { by: "all" },
  networkPolicy: { defaultAction: "deny",
                   egress: [{ action: "allow", target: "a.example" }] } });
const box = watch("Sandbox", made);
const id = made.id;
got.state = (await box.getInfo()).status.state;
got.healthy = await box.isHealthy();
got.cpus = (await box.getMetrics()).cpuCount > 0;
got.metadata = (await box.patchMetadata({ by: null, of: "it" })).metadata;
got.renewed = (await box.renew(1800)).expiresAt instanceof Date;
await box.waitUntilReady({ readyTimeoutSeconds: 20,
                           pollingIntervalMillis: 50 });
got.endpoint = (await box.getEndpoint(8124)).endpoint.endsWith("/proxy/8124");
got.url = (await box.getEndpointUrl(44772)).startsWith("http://");
const signed = await box.getSignedEndpoint(
  44772, Math.floor(Date.now() / 1000) + 600);
got.signed = (await fetch(`http://${signed.endpoint}/ping`)).status;

// ---- what it may reach ----
await box.patchEgressRules([{ action: "allow", target: "b.example" }]);
await box.deleteEgressRules(["a.example"]);
got.policy = (await box.getEgressPolicy()).egress;
const vault = watch("CredentialVault", made.credentialVault);
const key = name => ({ name, source: { type: "inline", value: "v" + name } });
got.vault = [(await vault.create({ credentials: [key("k"), key("l")],
  bindings: [{ name: "b", match: { hosts: ["b.example"] },
    auth: { type: "apiKey", name: "X-Key", credential: "k", substitutions: [
      { credential: "k", placeholder: "MY_API_KEY", in: ["body"] }] } }] })
  ).revision];
got.vault.push((await vault.patch({ expectedRevision: 1, credentials: {
  replace: [key("k")], delete: ["l"], add: [key("m")] } })).revision);
got.vault.push((await vault.get()).credentials.length);
got.vault.push((await vault.listCredentials()).map(c => c.name).sort());
got.vault.push((await vault.getCredential("m")).sourceType);
got.vault.push((await vault.listBindings()).map(b => b.auth.name));
got.vault.push((await vault.getBinding("b")).match.hosts);
await vault.delete();
try { await vault.get(); } catch (error) { got.vault.push(error.statusCode); }

// ---- what runs ----
const commands = watch("ExecdCommands", made.commands);
got.run = (await commands.run("echo out; exit 3")).exitCode;
got.stream = [];
for await (const event of commands.runStream("echo up"))
  if (event.type === "stdout") got.stream.push(event.text);
const back = await commands.run("echo up; sleep 83.5", { background: true });
got.logs = (await until(async () => {
  const logs = await commands.getBackgroundCommandLogs(back.id);
  return logs.content && logs;
})).content;
await commands.interrupt(back.id);
got.ended = await until(async () => {
  const status = await commands.getCommandStatus(back.id);
  return !status.running && status.finishedAt instanceof Date;
});
const session = await commands.createSession({ workingDirectory: "/usr" });
await commands.runInSession(session, "A=kept");
got.session = (await commands.runInSession(session, "echo $A; pwd"))
  .logs.stdout.map(line => line.text);
await commands.deleteSession(session);
got.ping = await watch("ExecdHealth", made.health).ping();
got.metrics = (await watch("ExecdMetrics", made.metrics).getMetrics())
  .memoryTotalMiB > 0;

// ---- files ----
const files = watch("SandboxFiles", made.files);
await files.createDirectories([{ path: "/tmp/all/dir", mode: 755 }]);
await files.writeFiles([{ path: "/tmp/all/a.txt", data: "one two" },
                        { path: "/tmp/all/dir/b.txt", data: "three" }]);
got.file = await files.readFile("/tmp/all/a.txt");
got.bytes = (await files.readBytes("/tmp/all/a.txt")).length;
got.piece = 0;
for await (const piece of files.readBytesStream("/tmp/all/a.txt"))
  got.piece += piece.length;
got.info = (await files.getFileInfo(["/tmp/all/a.txt"]))["/tmp/all/a.txt"].size;
got.search = (await files.search({ path: "/tmp/all", pattern: "*.txt" })).length;
got.list = (await files.listDirectory({ path: "/tmp/all" })).length;
await files.replaceContents([{ path: "/tmp/all/a.txt", oldContent: "one",
                               newContent: "1" }]);
got.replaced = await files.replaceContentsDetailed([
  { path: "/tmp/all/a.txt", oldContent: "two", newContent: "2" }]);
await files.setPermissions([{ path: "/tmp/all/a.txt", mode: 600 }]);
await files.moveFiles([{ src: "/tmp/all/a.txt", dest: "/tmp/all/c.txt" }]);
got.moved = await files.readFile("/tmp/all/c.txt");
await files.deleteFiles(["/tmp/all/c.txt"]);
await files.deleteDirectories(["/tmp/all/dir"]);
got.left = (await files.listDirectory({ path: "/tmp/all" })).length;

// ---- isolated ----
const isolation = watch("IsolationService", made.isolation);
const path = (await commands.run("pwd")).logs.stdout[0].text;
got.can = (await isolation.capabilities()).available;
const one = watch("IsolationSession",
                  await isolation.create({ workspace: { path } }));
got.inside = (await one.run("echo inside")).logs.stdout[0].text;
got.active = (await one.get()).status;
got.listed = (await isolation.list()).map(
  other => other.session_id === one.sessionId);
got.attached = (await isolation.attach(one.sessionId)).sessionId
  === one.sessionId;
await one.delete();
got.once = (await isolation.runOnce("exit 5", path)).exitCode;
got.with = await isolation.withSession({ workspace: { path } },
  async other => (await other.run("exit 6")).exitCode);

// ---- rest, and back ----
await box.pause();
const again = watch("Sandbox", await box.resume());
await again.pause();
const third = watch("Sandbox", await Boxes.resume({
  connectionConfig: connection, sandboxId: id }));
const fourth = watch("Sandbox", await Boxes.connect({
  connectionConfig: connection, sandboxId: id }));
got.back = (await fourth.getInfo()).status.state;

// ---- those of somebody ----
const manager = watch("SandboxManager",
                      Managers.create({ connectionConfig: connection }));
got.mine = (await manager.listSandboxInfos({ metadata: { of: "it" } }))
  .items.map(item => item.id === id);
got.patched = (await manager.patchSandboxMetadata(id, { of: "me" })).metadata;
const snapshot = await manager.createSnapshot(id, { name: "all" });
await ready(manager)(snapshot.id);
got.snapshots = (await manager.listSnapshots({ sandboxId: id, name: "all" }))
  .items.map(item => item.name);
await manager.deleteSnapshot(snapshot.id);
await manager.pauseSandbox(id);
await manager.resumeSandbox(id);
await manager.renewSandbox(id, 900);
got.managed = (await manager.getSandboxInfo(id)).status.state;

// ---- the layers below ----
const factory = watch("AdapterFactory", sdk.createDefaultAdapterFactory());
const boxes = watch("Sandboxes", factory.createLifecycleStack({
  connectionConfig: connection, lifecycleBaseUrl: connection.getBaseUrl(),
}).sandboxes);
const low = await boxes.createSandbox({ image: { uri: "host" },
  entrypoint: ["tail", "-f", "/dev/null"],
  resourceLimits: { cpu: "1", memory: "512Mi" },
  networkPolicy: { egress: [] } });
got.low = [(await boxes.getSandbox(low.id)).status.state,
  (await boxes.patchSandboxMetadata(low.id, { by: "low" })).metadata.by,
  (await boxes.listSandboxes({ metadata: { by: "low" } })).items.length];
const at = {};
for (const [name, port] of [["execd", 44772], ["egress", 18080]]) {
  const endpoint = await boxes.getSandboxEndpoint(low.id, port);
  at[name] = { connectionConfig: connection,
               endpointHeaders: endpoint.headers,
               [name + "BaseUrl"]: "http://" + endpoint.endpoint };
}
const execd = factory.createExecdStack(at.execd);
got.low.push((await execd.commands.run("exit 7")).exitCode);
const { egress } = factory.createEgressStack(at.egress);
const reach = watch("Egress", egress);
await reach.patchRules([{ action: "allow", target: "c.example" }]);
got.low.push((await reach.getPolicy()).egress.length);
await reach.deleteRules(["c.example"]);
got.low.push((await reach.getPolicy()).egress.length);
got.low.push((await boxes.getSignedEndpoint(
  low.id, 8124, Math.floor(Date.now() / 1000) + 60)).endpoint.length > 0);
boxes.invalidateEndpointCache(low.id);
await boxes.pauseSandbox(low.id);
await boxes.resumeSandbox(low.id);
await boxes.renewSandboxExpiration(low.id, {
  expiresAt: new Date(Date.now() + 900000).toISOString() })
  .catch(error => got.low.push(error.statusCode));
const copy = await boxes.createSnapshot(low.id);
await ready(boxes)(copy.id);
got.low.push((await boxes.listSnapshots({ sandboxId: low.id })).items.length);
await boxes.deleteSnapshot(copy.id);
await boxes.deleteSandbox(low.id);

await manager.killSandbox(id);
got.over = (await manager.getSandboxInfo(id)).status.state;
const last = watch("Sandbox", await Boxes.create(spec));
await last.kill();
for (const other of [box, again, third, fourth, last, manager])
  await other.close();
console.log(JSON.stringify({ called: [...called], got }));
"""


@pytest.fixture(scope="module")
def api(gateway, tmp_path_factory):
    api = Api(gateway, tmp_path_factory.mktemp("api")).start()
    yield api
    api.stop()
    api.check()


def declared(directory):
    """What the SDK's declarations name: "Kind.method"."""
    text = "".join(path.read_text() for path in sorted(
        pathlib.Path(directory, PACKAGE).glob("*.d.ts"))
        if path.name != "internal.d.ts")
    found = set()
    for kind in KINDS:
        body = re.search(
            rf"^(?:declare class|interface) {kind} \{{$(.*?)^\}}$", text,
            re.MULTILINE | re.DOTALL)
        names = re.findall(r"^    (static )?(\w+)\??(?:<\w+>)?\(", body[1],
                           re.MULTILINE)
        assert names, kind
        found |= {f"{static}{kind}.{name}" for static, name in names
                  if name != "constructor"}
    return found


def test_every_method_of_the_sdk_does_what_it_says(api, tmp_path):
    directory = install_sdk(tmp_path)
    wanted = declared(directory)
    said = api.node(directory, PROGRAM, timeout=240)
    assert len(wanted) > 90
    assert wanted - set(said["called"]) == set()
    assert said["got"] == {
        "state": "Running", "healthy": True, "cpus": True,
        "metadata": {"of": "it"}, "renewed": True, "endpoint": True,
        "url": True, "signed": 200,
        "policy": [{"action": "allow", "target": "b.example"}],
        "vault": [1, 2, 2, ["k", "m"], "inline", ["X-Key"], ["b.example"],
                  404],
        "run": 3, "stream": ["up"], "logs": "up\n", "ended": True,
        "session": ["kept", "/usr"], "ping": True, "metrics": True,
        "file": "one two", "bytes": 7, "piece": 7, "info": 7, "search": 2,
        "list": 2, "replaced": [{"path": "/tmp/all/a.txt",
                                 "replacedCount": 1}],
        "moved": "1 2", "left": 0, "can": True, "inside": "inside",
        "active": "active", "listed": [True], "attached": True, "once": 5,
        "with": 6, "back": "Running", "mine": [True],
        "patched": {"of": "me"}, "snapshots": ["all"],
        "managed": "Running",
        "low": ["Running", "low", 1, 7, 1, 0, True, 409, 1],
        "over": "Terminated"}
