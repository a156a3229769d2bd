"""A double of GitHub's API: one repository, its issues and pull requests, as
docs.github.com describes REST and GraphQL, errors included. It is not GitHub:
what it does not know of GraphQL is null, and every write that it does not know
is granted, so that a test sees what got through. And an upstream proxy by which
a gateway finds it on any port."""
import http.server
import json
import re
import socket
import socketserver
import ssl
import threading

WHEN = "2024-05-01T12:00:00Z"
TOKEN = re.compile(r'#[^\n]*|"""(?:.|\n)*?"""|"(?:[^"\\]|\\.)*"|\.\.\.|'
                   r"-?\d+(?:\.\d+)?|[_A-Za-z]\w*|[!$&()\[\]{}:=@|]")


# ---- GraphQL: as much of it as gh speaks ----

class Document:
    """Operations and fragments; a selection is a list of (kind, alias, name,
    arguments, selection)."""

    def __init__(self, text):
        self.words = [word for word in TOKEN.findall(text)
                      if not word.startswith("#")]
        self.at = 0
        self.operations, self.fragments = [], {}
        while self.at < len(self.words):
            self._definition()

    def _peek(self):
        return self.words[self.at] if self.at < len(self.words) else None

    def _next(self):
        self.at += 1
        return self.words[self.at - 1]

    def _take(self, word):
        if self._peek() != word:
            return False
        self.at += 1
        return True

    def _definition(self):
        kind, name = "query", ""
        if self._peek() != "{":
            kind = self._next()
            if self._peek() not in ("{", "(", "@"):
                name = self._next()
        if kind == "fragment":
            self.at += 2  # on Type
            self.fragments[name] = self._selection()
            return
        defaults = {}
        if self._take("("):
            while not self._take(")"):
                word = self._next()
                if word == "=":
                    defaults[variable] = self._value()
                elif word == "$":
                    variable = self._next()
        self.operations.append((kind, name, defaults, self._selection()))

    def _selection(self):
        assert self._take("{"), self.words[self.at:self.at + 5]
        made = []
        while not self._take("}"):
            made.append(self._member())
        return made

    def _member(self):
        if self._take("..."):
            if self._peek() not in ("on", "{"):
                return ("spread", "", self._next(), {}, [])
            kind = self._next() and self._next() \
                if self._peek() == "on" else ""
            return ("inline", "", kind, {}, self._selection())
        name = alias = self._next()
        if self._take(":"):
            name = self._next()
        arguments = self._pairs(")") if self._take("(") else {}
        return ("field", alias, name, arguments,
                self._selection() if self._peek() == "{" else [])

    def _pairs(self, end):
        made = {}
        while not self._take(end):
            name = self._next()
            assert self._take(":")
            made[name] = self._value()
        return made

    def _value(self):
        word = self._next()
        if word == "$":
            return ("variable", self._next())
        if word == "[":
            made = []
            while not self._take("]"):
                made.append(self._value())
            return made
        if word == "{":
            return self._pairs("}")
        if word[0] == '"':
            return json.loads(word)
        if word in ("true", "false", "null"):
            return json.loads(word)
        return int(word) if word.lstrip("-").isdigit() else word


class Run:
    def __init__(self, document, variables):
        self.document, self.variables = document, variables

    def fill(self, value):
        if isinstance(value, tuple):
            return self.variables.get(value[1])
        if isinstance(value, dict):
            return {k: self.fill(v) for k, v in value.items()}
        if isinstance(value, list):
            return [self.fill(v) for v in value]
        return value

    def on(self, thing, selection):
        if isinstance(thing, list):
            return [self.on(one, selection) for one in thing]
        if not isinstance(thing, dict):
            return thing
        made = {}
        for kind, alias, name, arguments, inner in selection:
            if kind == "spread":
                made |= self.on(thing, self.document.fragments[name])
            elif kind == "inline":
                if name in ("", thing.get("__typename")):
                    made |= self.on(thing, inner)
            else:
                value = thing.get(name)
                if callable(value):
                    value = value(**self.fill(arguments))
                made[alias] = self.on(value, inner)
        return made


def connection(things):
    return {"nodes": things, "totalCount": len(things),
            "edges": [{"node": one, "cursor": "c"} for one in things],
            "pageInfo": {"hasNextPage": False, "endCursor": ""}}


class NotFound(Exception):
    pass


# ---- what there is ----

class Repository:
    def __init__(self, number, name, branches):
        self.number, self.full_name = number, name
        self.owner, self.name = name.split("/")
        self.id = f"R_kgDO{number:04d}"
        self.branches = branches  # a function: what the forge has
        self.things = []

    def add(self, kind, title, body, by="octocat", **more):
        number = len(self.things) + 1
        path = "pull" if kind == "PullRequest" else "issues"
        letters = "PR" if kind == "PullRequest" else "I"
        thing = {"__typename": kind, "number": number, "title": title,
                 "id": f"{letters}_kwDO{self.number:04d}{number:04d}",
                 "body": body, "state": "OPEN", "createdAt": WHEN,
                 "updatedAt": WHEN, "closed": False,
                 "author": {"__typename": "User", "login": by, "id": "U_1",
                            "name": by},
                 "url": f"https://github.com/{self.full_name}/{path}/{number}",
                 "remarks": [], "labels": lambda **_: connection([]),
                 "assignees": lambda **_: connection([]),
                 "projectCards": lambda **_: connection([]),
                 "reactionGroups": [], "repository": self.graph,
                 **more}
        thing["comments"] = lambda **_: connection(thing["remarks"])
        self.things.append(thing)
        return thing

    def pull(self, head, base="main", title="a change", body="", by="agent",
             head_owner=None):
        owner = head_owner or self.owner
        there = {"id": self.id, "name": self.name,
                 "nameWithOwner": f"{owner}/{self.name}",
                 "owner": {"login": owner}}
        commit = {"oid": "a" * 40, "statusCheckRollup": {
            "state": "SUCCESS", "contexts": lambda **_: connection([{
                "__typename": "CheckRun", "name": "build",
                "status": "COMPLETED", "conclusion": "SUCCESS",
                "startedAt": WHEN, "completedAt": WHEN,
                "detailsUrl": "https://ci.example/1",
                "checkSuite": {"workflowRun": {"workflow": {
                    "name": "ci"}}}}])}}
        return self.add(
            "PullRequest", title, body, by, headRefName=head,
            baseRefName=base, isDraft=False, headRepository=there,
            headRepositoryOwner=there["owner"], additions=1, deletions=0,
            isCrossRepository=owner != self.owner, mergeable="MERGEABLE",
            commits=lambda **_: connection([{"commit": commit}]),
            statusCheckRollup=lambda **_: connection([{"commit": commit}]),
            reviews=lambda **_: connection([]),
            reviewRequests=lambda **_: connection([]))

    def numbered(self, number, kind=None):
        for thing in self.things:
            if thing["number"] == int(number) and \
                    kind in (None, thing["__typename"]):
                return thing
        raise NotFound(f"Could not resolve to an issue or pull request with "
                       f"the number of {number}.")

    def pulls(self, **wanted):
        return [one for one in self.things
                if one["__typename"] == "PullRequest"
                and wanted.get("headRefName") in (None, one["headRefName"])
                and (not wanted.get("states")
                     or one["state"] in wanted["states"])]

    @property
    def graph(self):
        issues = [one for one in self.things if one["__typename"] == "Issue"]
        return {
            "__typename": "Repository", "id": self.id, "name": self.name,
            "nameWithOwner": self.full_name, "owner": {"login": self.owner},
            "url": f"https://github.com/{self.full_name}", "parent": None,
            "description": "widgets", "isPrivate": True,
            "hasIssuesEnabled": True, "hasWikiEnabled": False,
            "viewerPermission": "WRITE", "visibility": "PRIVATE",
            "defaultBranchRef": {"name": "main"},
            "mergeCommitAllowed": True, "squashMergeAllowed": True,
            "rebaseMergeAllowed": True, "pullRequestTemplates": [],
            "issueTemplates": [], "homepageUrl": "",
            "stargazerCount": 0, "forkCount": 0,
            "pullRequest": lambda number: self.numbered(number,
                                                        "PullRequest"),
            "issue": self.numbered, "issueOrPullRequest": self.numbered,
            "pullRequests": lambda **how: connection(self.pulls(**how)),
            "issues": lambda **_: connection(issues),
            "labels": lambda **_: connection([]),
        }


class GitHubDouble:
    """Its state, and what it was asked for."""

    def __init__(self, address, token, pem):
        self.token = token
        self.repositories = {}
        self.heard = []  # (method, host and path, body)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem)
        self.server = _Server((address, 0), _Handler)
        self.server.double = self
        self.server.context = context
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,),
                         daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def repository(self, name, branches):
        made = Repository(len(self.repositories) + 1, name, branches)
        self.repositories[name.lower()] = made
        return made

    def named(self, name):
        if name.lower() not in self.repositories:
            raise NotFound("Could not resolve to a Repository with the name "
                           f"'{name}'.")
        return self.repositories[name.lower()]

    def node(self, wanted):
        for repository in self.repositories.values():
            if repository.id == wanted:
                return repository.graph
            for thing in repository.things:
                if thing["id"] == wanted:
                    return thing
        raise NotFound("Could not resolve to a node with the global id of "
                       f"'{wanted}'")

    # ---- GraphQL ----

    def _create_pull_request(self, of):
        repository = self._of(of["repositoryId"])
        head = of["headRefName"].split(":")[-1]
        if head not in repository.branches():
            raise NotFound("Head sha can't be blank, Base sha can't be "
                           f"blank, No commits between {of['baseRefName']} "
                           f"and {head}")
        if repository.pulls(headRefName=head, states=["OPEN"]):
            raise NotFound("A pull request already exists for "
                           f"{repository.owner}:{head}.")
        return {"pullRequest": repository.pull(
            head, of["baseRefName"], of["title"], of.get("body", ""))}

    def _of(self, wanted):
        for repository in self.repositories.values():
            if repository.id == wanted:
                return repository
        raise NotFound(f"Could not resolve to a node '{wanted}'")

    def remark(self, thing, body):
        made = {"__typename": "IssueComment", "body": body, "id": "IC_1",
                "url": f"{thing['url']}#issuecomment-1", "createdAt": WHEN,
                "author": {"login": "agent"}, "authorAssociation": "MEMBER",
                "includesCreatedEdit": False, "reactionGroups": []}
        thing["remarks"].append(made)
        return made

    def _add_comment(self, of):
        made = self.remark(self.node(of["subjectId"]), of["body"])
        return {"commentEdge": {"node": made}}

    def _change(self, **values):
        def change(of):
            thing = self.node(of["pullRequestId"])
            thing.update({k: v for k, v in of.items()
                          if k in ("title", "body", "baseRefName")}, **values)
            return {"pullRequest": thing}
        return change

    def _mutations(self):
        known = {"createPullRequest": self._create_pull_request,
                 "addComment": self._add_comment,
                 "addPullRequestReview": self._change(),
                 "updatePullRequest": self._change(),
                 "closePullRequest": self._change(state="CLOSED"),
                 "reopenPullRequest": self._change(state="OPEN"),
                 "convertPullRequestToDraft": self._change(isDraft=True),
                 "markPullRequestReadyForReview": self._change(isDraft=False)}

        class Granted(dict):
            def get(self, name):
                return lambda input: known.get(name, lambda _: {})(input)
        return Granted()

    def _queries(self):
        viewer = {"login": "agent", "id": "U_2", "name": "agent"}
        return {"viewer": viewer,
                "repository": lambda owner, name, **_:
                    self.named(f"{owner}/{name}").graph,
                "node": lambda id: self.node(id),
                "nodes": lambda ids: [self.node(one) for one in ids],
                "search": lambda **_: connection([]),
                "rateLimit": {"remaining": 5000},
                "__type": lambda **_: {"fields": []}}

    def graphql(self, request):
        document = Document(request["query"])
        kind, _, defaults, selection = next(
            one for one in document.operations
            if request.get("operationName") in (None, "", one[1]))
        run = Run(document, defaults | (request.get("variables") or {}))
        root = self._mutations() if kind == "mutation" else self._queries()
        try:
            return {"data": run.on(root, selection)}
        except KeyError as e:
            return {"errors": [{"message": f"Argument {e} is required"}]}
        except NotFound as e:
            return {"data": None, "errors": [
                {"type": "NOT_FOUND", "path": [selection[0][1]],
                 "locations": [{"line": 1, "column": 1}],
                 "message": str(e)}]}


# ---- REST ----

ERRORS = "https://docs.github.com/rest"


def _pull_as_rest(repository, pull):
    return {"id": 1, "node_id": pull["id"], "number": pull["number"],
            "state": pull["state"].lower(), "title": pull["title"],
            "body": pull["body"], "html_url": pull["url"],
            "head": {"ref": pull["headRefName"], "sha": "a" * 40,
                     "label": f"{repository.owner}:{pull['headRefName']}"},
            "base": {"ref": pull["baseRefName"], "sha": "b" * 40}}


RUN = {"id": 30, "name": "ci", "display_title": "a change",
       "head_branch": "main", "head_sha": "a" * 40, "status": "completed",
       "conclusion": "success", "event": "push", "workflow_id": 5,
       "run_number": 1, "run_attempt": 1, "created_at": WHEN,
       "updated_at": WHEN, "run_started_at": WHEN,
       "html_url": "https://github.com/runs/30", "check_suite_id": 9}
JOB = {"id": 40, "run_id": 30, "name": "build", "status": "completed",
       "conclusion": "success", "started_at": WHEN, "completed_at": WHEN,
       "steps": [], "html_url": "https://github.com/runs/30/jobs/40"}


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60
    disable_nagle_algorithm = True

    def log_message(self, *args):
        pass

    def _say(self, status, value, kind="application/json; charset=utf-8"):
        body = value if isinstance(value, bytes) else json.dumps(
            value).encode()
        if status == 204:
            body = b""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-OAuth-Scopes", "repo, read:org")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _fail(self, status, message, **more):
        self._say(status, {"message": message, "documentation_url": ERRORS,
                           **more})

    def _read(self, repository, rest, query):
        accept = self.headers.get("Accept", "")
        if rest == "":
            return {"id": repository.number, "node_id": repository.id,
                    "full_name": repository.full_name, "private": True,
                    "default_branch": "main"}
        if match := re.fullmatch(r"pulls/(\d+)", rest):
            pull = repository.numbered(match[1], "PullRequest")
            if "diff" in accept:
                return b"diff --git a/file b/file\n+a change\n"
            return _pull_as_rest(repository, pull)
        if match := re.fullmatch(r"issues/(\d+)/comments", rest):
            return repository.numbered(match[1])["remarks"]
        if rest == "pulls":
            return [_pull_as_rest(repository, one)
                    for one in repository.pulls()]
        if rest in ("actions/runs", "actions/workflows/5/runs"):
            return {"total_count": 1, "workflow_runs": [RUN]}
        known = {"actions/runs/30": RUN, "actions/workflows/5":
                 {"id": 5, "name": "ci", "state": "active",
                  "path": ".github/workflows/ci.yml"},
                 "actions/workflows": {"total_count": 1, "workflows": [
                     {"id": 5, "name": "ci", "state": "active"}]},
                 "actions/runs/30/jobs": {"total_count": 1, "jobs": [JOB]},
                 "actions/runs/30/attempts/1/jobs":
                     {"total_count": 1, "jobs": [JOB]},
                 "actions/runs/30/artifacts":
                     {"total_count": 0, "artifacts": []},
                 "check-runs/40/annotations": [],
                 "readme": {"name": "README.md", "content": "aGVsbG8=",
                            "encoding": "base64",
                            "html_url": "https://github.com/readme"}}
        if rest not in known:
            raise NotFound("Not Found")
        return known[rest]

    def _write(self, repository, rest, of):
        """A write that it knows; None: another."""
        if self.command == "POST" and rest == "pulls":
            head = of["head"].split(":")[-1]
            if head not in repository.branches():
                self._fail(422, "Validation Failed", errors=[
                    {"resource": "PullRequest", "field": "head",
                     "code": "invalid"}])
            elif repository.pulls(headRefName=head, states=["OPEN"]):
                self._fail(422, "Validation Failed", errors=[
                    {"resource": "PullRequest", "code": "custom", "message":
                     f"A pull request already exists for "
                     f"{repository.owner}:{head}."}])
            else:
                pull = repository.pull(head, of["base"], of["title"])
                self._say(201, _pull_as_rest(repository, pull))
            return True
        match = re.fullmatch(r"issues/(\d+)/comments", rest)
        if self.command == "POST" and match:
            thing = repository.numbered(match[1])
            self._say(201, self.server.double.remark(thing, of["body"]))
            return True
        return False

    def _repository(self, path, query, of):
        match = re.fullmatch(r"/repos/([^/]+/[^/]+)(?:/(.*))?", path, re.I)
        double = self.server.double
        try:
            repository = double.named(match[1])
            rest = match[2] or ""
            if self.command in ("GET", "HEAD"):
                found = self._read(repository, rest, query)
                self._say(200, found, "text/plain"
                          if isinstance(found, bytes)
                          else "application/json; charset=utf-8")
            elif not self._write(repository, rest, of):
                self._say(200, {"granted": True})
        except NotFound as e:
            self._fail(404, "Not Found", reason=str(e))

    def _serve(self):
        double = self.server.double
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path, _, query = self.path.partition("?")
        host = self.headers["Host"]
        double.heard.append((self.command, f"{host}{self.path}",
                             body.decode(errors="replace")))
        if host != "api.github.com":
            self._say(200, b"a file\n", "text/plain")
        elif self.headers.get("Authorization") != f"Bearer {double.token}":
            self._fail(401, "Bad credentials")
        elif path == "/graphql" and self.command == "POST":
            self._say(200, double.graphql(json.loads(body)))
        elif path.lower().startswith("/repos/"):
            self._repository(path, query, json.loads(body or b"{}"))
        elif path == "/":
            self._say(200, {"current_user_url": "https://api.github.com/user"})
        elif path == "/user":
            self._say(200, {"login": "agent", "id": 2})
        elif self.command in ("GET", "HEAD"):
            self._fail(404, "Not Found")
        else:
            self._say(200, {"granted": True})

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = _serve


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def finish_request(self, request, client_address):
        request.settimeout(30)
        try:
            request = self.context.wrap_socket(request, server_side=True)
            super().finish_request(request, client_address)
        except (OSError, ValueError):
            pass
        finally:
            request.close()

    def handle_error(self, request, client_address):
        pass


# ---- the way there ----

class _Way(socketserver.StreamRequestHandler):
    """CONNECT to what a name stands for."""

    def handle(self):
        line = self.rfile.readline().split()
        while self.rfile.readline().strip():
            pass
        place = self.server.places.get(line[1].decode())
        if not place:
            self.wfile.write(b"HTTP/1.1 502 nobody there\r\n\r\n")
            return
        with socket.create_connection(place, 30) as there:
            self.wfile.write(b"HTTP/1.1 200 connected\r\n\r\n")
            back = threading.Thread(target=self._copy,
                                    args=(there, self.connection))
            back.start()
            self._copy(self.connection, there)
            back.join(60)

    @staticmethod
    def _copy(source, to):
        try:
            while block := source.recv(65536):
                to.sendall(block)
            to.shutdown(socket.SHUT_WR)
        except OSError:
            pass


class Ways(socketserver.ThreadingTCPServer):
    """An upstream proxy: "host:443" -> (address, port)."""
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, address, places):
        super().__init__((address, 0), _Way)
        self.places = places
        self.url = f"http://{address}:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, args=(0.05,),
                         daemon=True).start()

    def stop(self):
        self.shutdown()
        self.server_close()
