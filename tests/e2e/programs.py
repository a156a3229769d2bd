"""Small HTTP clients in Java and Go, compiled once for all tests of a run:
each prints the status and the body of what it gets for a URL."""
import shutil
import subprocess

import pytest

JAVA = """
import java.net.URI;
import java.net.http.*;
public class Get {
    public static void main(String[] args) throws Exception {
        var answer = HttpClient.newHttpClient().send(
            HttpRequest.newBuilder(URI.create(args[0])).build(),
            HttpResponse.BodyHandlers.ofString());
        System.out.println(answer.statusCode() + " " + answer.body());
    }
}
"""
JAVA_URL = """
import java.net.*;
public class GetUrl {
    public static void main(String[] args) throws Exception {
        var to = (HttpURLConnection) new URL(args[0]).openConnection();
        int status = to.getResponseCode();
        var from = status < 400 ? to.getInputStream() : to.getErrorStream();
        System.out.println(status + " " + new String(from.readAllBytes()));
    }
}
"""
GO = """
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
)

func main() {
	answer, err := http.Get(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(answer.StatusCode, string(body))
}
"""
# A virtual machine that starts soon.
RUN_JAVA = "java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp ."
PROGRAMS = {"java HttpClient": f"{RUN_JAVA} Get",
            "java HttpsURLConnection": f"{RUN_JAVA} GetUrl",
            "go": "./get-go"}


@pytest.fixture(scope="session")
def give_programs(tmp_path_factory):
    """Put the one that a command starts with into a directory."""
    path = tmp_path_factory.mktemp("programs")
    (path / "Get.java").write_text(JAVA)
    (path / "GetUrl.java").write_text(JAVA_URL)
    (path / "get.go").write_text(GO)

    def compile_once(made, *command):
        if not (path / made).exists():
            subprocess.run(command, cwd=path, check=True, timeout=300)

    def give(command, where):
        if "java" in command:
            compile_once("Get.class", "javac", "Get.java", "GetUrl.java")
            for file in path.glob("*.class"):
                shutil.copy(file, where)
        if "get-go" in command:
            # GCC's Go.
            compile_once("get-go", "gccgo", "-static-libgo", "-o", "get-go",
                         "get.go")
            shutil.copy(path / "get-go", where)
    return give
