"""AWS requests: signed with a placeholder inside, signed again outside, and
verified by a service double that has the real key. botocore is a real
client."""
import os

import botocore.session
import pytest
from botocore.config import Config
from keyed_origin import KeyedOrigin

HOST = "good.example"
ID, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
TOKEN = "canary-session-token/of+some=length=="
EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
# Later versions send a body piece by piece unless they are told not to.
os.environ["AWS_REQUEST_CHECKSUM_CALCULATION"] = "when_required"


@pytest.fixture(scope="module")
def service(origin, pki):
    service = KeyedOrigin(origin.address, pki[0][HOST])
    yield service
    service.stop()


@pytest.fixture
def aws(make_session, policies, service, gateway):
    def make(name, token="", **sigv4):
        gateway.put_secret("aws", f"{ID}:{SECRET}" + (token and f":{token}"))
        service.seen.clear()
        service.keys = {ID: (SECRET, token)}
        policy = policies.make([policies.rule(HOST, ports=[service.port],
                                              credential="aws")])
        policy["credentials"] = [{
            "name": "aws", "secret": "aws", "attach": "sigv4",
            "hosts": [HOST],
            "sigv4": {"region": "eu-central-1", "service": name, **sigv4},
            "placeholder": {"env": ["AWS_ACCESS_KEY_ID",
                                    "AWS_SECRET_ACCESS_KEY"]}}]
        session = make_session(policy)
        session.url = f"https://{HOST}:{service.port}"
        return session
    return make


def client(session, name):
    return botocore.session.Session().create_client(
        name, region_name="eu-central-1", endpoint_url=session.url,
        verify=str(session.ca),
        aws_access_key_id=session.placeholders["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=session.placeholders["AWS_SECRET_ACCESS_KEY"],
        config=Config(proxies={"https": session.proxy},
                      retries={"max_attempts": 0},
                      s3={"addressing_style": "path"}))


def code(answer):
    return answer["ResponseMetadata"]["HTTPStatusCode"]


def told(answer, constraint, *words):
    assert answer.status == 403, answer.text
    assert answer.json["constraint"] == constraint
    for word in words:
        assert word in answer.text
    assert SECRET not in answer.text


@pytest.mark.parametrize("token", ["", TOKEN])
def test_botocore_is_signed_again(aws, service, token):
    session = aws("dynamodb", token)
    placeholder = session.placeholders["AWS_ACCESS_KEY_ID"]
    assert placeholder.startswith("AKIA") and len(placeholder) == 20
    answer = client(session, "dynamodb").get_item(
        TableName="table", Key={"id": {"S": "ü"}})
    assert code(answer) == 200
    seen = service.seen.pop()
    assert f"Credential={ID}/" in seen.headers["authorization"]
    assert placeholder not in str(seen.fields)
    assert seen.headers.get("x-amz-security-token", "") == token


def test_botocore_puts_and_gets_objects(aws, service):
    session = aws("s3")
    s3 = client(session, "s3")
    answer = s3.put_object(Bucket="bucket", Key="a b/(c)+é~.txt",
                           Body=b"x" * 100000, ContentType="text/plain",
                           Metadata={"one": "two  three"})
    assert code(answer) == 200
    assert service.seen[-1].body == b"x" * 100000
    answer = s3.get_object(Bucket="bucket", Key="a b/(c)+é~.txt")
    assert code(answer) == 200
    assert code(s3.head_object(Bucket="bucket", Key="d")) == 200


def test_the_double_tells_a_wrong_signature(aws, service):
    """The twin: it verifies what it is sent."""
    session = aws("dynamodb")
    service.keys = {ID: ("another secret", "")}
    assert session.curl(session.url + "/").status == 403
    assert session.row("request", method="GET")["allowed"]


@pytest.mark.parametrize("query", [
    "", "b=2&a=1&a=0", "x=1+2&y=%7e%2f!&z", "prefix=a%2Fb&list-type=2"])
def test_queries_are_signed_as_they_are_sent(aws, service, query):
    session = aws("s3")
    answer = session.curl(f"{session.url}/bucket/a%20b!(c)?{query}")
    assert answer.status == 200, service.seen


def test_a_body_has_the_hash_that_is_given(aws, service):
    session = aws("s3")
    field = "X-Amz-Content-Sha256: "
    right = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
    put = ("-X", "PUT", "--data-binary", "x", "-H", "Content-Type: a/b")
    assert session.curl(session.url + "/b/c", *put, "-H",
                        field + right).status == 200
    assert service.seen.pop().headers["x-amz-content-sha256"] == right
    # Without one, or with none that says anything, it is made here.
    for more in ((), ("-H", field + "UNSIGNED-PAYLOAD")):
        assert session.curl(session.url + "/b/c", *put, *more).status == 200
        assert service.seen.pop().headers["x-amz-content-sha256"] == right
    answer = session.curl(session.url + "/b/c", *put, "-H", field + EMPTY)
    assert answer.status == 502
    assert not service.seen


def test_a_body_goes_unsigned_where_the_policy_says_so(aws, service):
    session = aws("s3", payload="unsigned")
    assert session.curl(session.url + "/b/c", "-T", "-", "-H",
                        "Transfer-Encoding: chunked").status == 200
    assert service.seen.pop().headers["x-amz-content-sha256"] == \
        "UNSIGNED-PAYLOAD"


@pytest.mark.parametrize("target, fields, word", [
    ("/?X-Amz-Signature=00", [], "presigned"),
    ("/?x-amz-credential=a&b", [], "presigned"),
    ("/", ["Authorization: AWS4-ECDSA-P256-SHA256 Credential=a"], "SigV4A"),
    ("/", ["X-Amz-Region-Set: *"], "SigV4A"),
    ("/", ["X-Amz-Content-Sha256: STREAMING-AWS4-HMAC-SHA256-PAYLOAD"],
     "piece by piece"),
    ("/", ["X-Amz-Content-Sha256: STREAMING-UNSIGNED-PAYLOAD-TRAILER"],
     "piece by piece"),
    ("/", ["Content-Encoding: aws-chunked"], "aws-chunked")])
def test_what_cannot_be_signed_again_is_refused(aws, service, target, fields,
                                                word):
    session = aws("s3")
    options = [part for field in fields for part in ("-H", field)]
    told(session.curl(session.url + target, *options),
         "signature_not_supported", word)
    assert not service.seen
    assert session.curl(session.url + "/").status == 200


def test_an_aws_placeholder_goes_nowhere_else(aws, service):
    session = aws("s3")
    told(session.curl(session.url + "/", "-H", "X-Key: "
                      + session.placeholders["AWS_SECRET_ACCESS_KEY"]),
         "placeholder_not_allowed", "to be replaced")
    assert not service.seen


def test_nothing_of_the_key_is_on_record(aws, service, gateway):
    session = aws("s3", TOKEN)
    assert session.curl(session.url + "/a?b=c").status == 200
    text = str(session.audit()) + gateway.log()
    assert SECRET not in text and TOKEN not in text and ID not in text
