"""Java: unmodified programs in archives and folders, options, and every reason to start anew."""
import os
import re
import shutil
import subprocess

import results
from comparing import ENVIRONMENT, Language
from instance import CHANGED, OPTIONS, Refused, RUNTIMES, SIGNALS
from instance import ENVIRONMENT as VARIABLE

HERE = os.path.dirname(os.path.abspath(__file__))
SUBJECTS = ["arguments", "environment", "directory", "properties", "exception", "cause", "exit", "halt", "hooks", "streams",
            "scanner", "console", "stack", "deep", "process", "encodings", "threads", "all threads", "daemon", "terminate -TERM",
            "terminate -INT", "terminate -KILL", "signal", "resources", "reflection", "streams of data", "network", "files",
            "regular expressions", "random", "text", "logging", "time", "assertions", "memory", "descriptors", "large", "broken",
            "linkage", "out", "pause", "unknown"]
IMPORTS = ["!java.util.regex.Pattern", "java.util.TreeMap", "java.util.Scanner", "java.nio.file.Files", "!java.text.NumberFormat",
           "!java.util.stream.Collectors", "!java.util.concurrent.Executors", "java.util.logging.Logger", "java.net.Socket"]
# Texts that differ: the number of a temporary file, and the time of a message.
HIDES = [(rb"greenroom\d+", b"greenroomN"), (rb"^\w+ \d+, \d+,? \d+:\d+:\d+ [AP]M", b"TIME")]


def words_of(subject):
    """Returns the arguments of a subject. The subject's name may have spaces, unless an option follows."""
    return subject.split(" ") if " -" in subject else [subject]


def language(name, java):
    def prepare(options, imports, environment):
        if imports:
            environment["GREENROOM_IMPORTS"] = "\n".join(imports)
        # The program is the last of the options. The agent comes before it.
        place = next(i for i, word in enumerate(options) if word in ("-jar", "-cp", "-classpath"))
        agent = f"-agentpath:{RUNTIMES}/libgreenroom-jvm.so"
        return [java, *options[:place], agent, *options[place:]], environment
    return Language(name, java, prepare)


def build(java, compiler):
    folder = java.folder
    java.write("text", "resource\n")
    subprocess.run([compiler, "-d", folder, HERE + "/Main.java"], check=True, stderr=subprocess.DEVNULL)
    java.write("MANIFEST", "Main-Class: Main\n")
    archiver = os.path.join(os.path.dirname(os.path.realpath(compiler)), "jar")
    entries = ["text", *sorted(name for name in os.listdir(folder) if name.endswith(".class"))]
    subprocess.run([archiver, "cfm", "app.jar", "MANIFEST", *entries], cwd=folder, check=True)
    os.makedirs(folder + "/work")
    java.write("work/x", "")
    # A file that changed at or after the start of a paused process counts as changed. Running Java lets that time pass.
    subprocess.run([java.interpreter, "-version"], check=True, capture_output=True)
    return ["-jar", folder + "/app.jar"]


def subjects(java, archive):
    for subject in SUBJECTS:
        words = [*words_of(subject), "a b", "", "ü"]
        java.same_on_both(subject, words, options=archive, directory="work", hides=HIDES)
        if subject != "memory":
            java.same(subject + ", with imports", words, options=archive, imports=IMPORTS, directory="work", hides=HIDES)
    java.same("no arguments", [], options=archive, directory="work")
    java.same("a large environment and many words", ["many", *["x" * 100] * 200], options=archive,
              environment=dict(ENVIRONMENT, BIG="x" * 30000))


def options(java, archive):
    folder = java.folder
    for name, words, subject in (
            ("a class", ["-cp", folder, "Main"], "properties"), ("a class and its resources", ["-cp", folder, "Main"], "resources"),
            ("two entries", ["-cp", folder + "/app.jar:" + folder, "Main"], "resources"),
            ("properties", ["-Dx=y", "-Xmx64m", *archive], "properties"),
            ("no word on security managers", archive, "security manager"),
            ("a security manager is allowed", ["-Djava.security.manager=allow", *archive], "security manager"),
            ("no security manager is allowed", ["-Djava.security.manager=disallow", *archive], "security manager"),
            ("another collector", ["-XX:+UseSerialGC", "-Xmx64m", *archive], "memory"),
            ("assertions", ["-ea", *archive], "assertions"), ("without just-in-time compilation", ["-Xint", *archive], "stack"),
            ("without sharing", ["-Xshare:off", *archive], "exception")):
        java.same("options: " + name, [subject, "q"], options=words, directory="work")
    java.same("a security manager is allowed, with imports", ["security manager"], imports=IMPORTS, directory="work",
              options=["-Djava.security.manager=allow", *archive])
    wrapper = [java.interpreter, *archive]
    java.same("an option too many", ["nothing"], options=archive, direct=[java.interpreter, "-Dx=y", *archive, "nothing"], anew=OPTIONS)
    java.same("an option too few", ["nothing"], options=["-Dx=y", *archive], direct=[*wrapper, "nothing"], anew=OPTIONS)
    java.same("another program", [], options=archive, direct=[java.interpreter, "-cp", folder, "Main", "arguments"], anew=OPTIONS)
    java.same("the version", [], options=archive, direct=[java.interpreter, "-version"], anew=OPTIONS,
              hides=[(rb"", b"")])
    for name, words in (("a missing archive", ["-jar", "/nosuch.jar"]), ("a missing class", ["-cp", folder, "Nosuch"]),
                        ("a class path that is relative", ["-cp", ".", "Main"])):
        ends(java, name, words)


def ends(java, name, words, imports=()):
    """A process that cannot be prepared must end before the pause."""
    try:
        java.pause(options=words, imports=imports).end()
        results.report(f"java: {name} ends the process", False, "it paused")
    except Refused as refusal:
        results.report(f"java: {name} ends the process", bool(re.search(r"status (1|72)$", str(refusal))), str(refusal))


def variables(java, archive):
    def same(name, subject, environment, **more):
        java.same(name, [subject, "ü"], options=archive, environment=environment, directory="work", **more)

    same("a time zone", "encodings", dict(ENVIRONMENT, TZ="America/New_York"), prewarm=ENVIRONMENT)
    same("a time zone that is gone", "encodings", ENVIRONMENT, prewarm=dict(ENVIRONMENT, TZ="America/New_York"))
    same("the C locale", "encodings", dict(ENVIRONMENT, LC_ALL="POSIX"))
    same("another locale", "encodings", dict(ENVIRONMENT, LC_ALL="POSIX"), prewarm=ENVIRONMENT, anew=VARIABLE)
    same("JAVA_TOOL_OPTIONS", "properties", dict(ENVIRONMENT, JAVA_TOOL_OPTIONS="-Dq=1"),
         hides=[(rb"^Picked up .*\n", b"")])  # written when the JVM starts: the daemon does not prepare such a launch
    same("other JAVA_TOOL_OPTIONS", "properties", dict(ENVIRONMENT, JAVA_TOOL_OPTIONS="-Dq=1"), prewarm=ENVIRONMENT, anew=VARIABLE)
    java.same("a signal that the caller ignores", ["nothing"], options=archive, anew=SIGNALS,
              direct=["/bin/sh", "-c", "trap '' HUP; exec \"$@\"", "sh", java.interpreter, *archive, "nothing"],
              launch=[java.interpreter, *archive, "nothing"], change=lambda paused: paused.inherit(ignored=[1]))


def files(java, archive):
    """A direct run must load the same files."""
    def copied(paused):
        shutil.copy(archive[1], archive[1] + ".new")
        os.rename(archive[1] + ".new", archive[1])

    def settle():
        subprocess.run([java.interpreter, "-version"], check=True, capture_output=True)

    java.same("an archive that was replaced", ["nothing"], options=archive, change=copied, anew=CHANGED)
    settle()
    java.same("a class that was replaced", ["nothing"], options=["-cp", java.folder, "Main"], anew=CHANGED,
              change=lambda paused: os.utime(java.folder + "/Main.class"))
    settle()
    java.same("an entry that appears", ["nothing"], options=["-cp", java.folder + "/later.jar:" + archive[1], "Main"], anew=CHANGED,
              change=lambda paused: shutil.copy(archive[1], java.folder + "/later.jar"))
    settle()
    for name, imported in ("a missing class among the imports", "nosuch.Class"), ("a name that is no class", "not a class"):
        ends(java, name, archive, [imported])


def run():
    java, compiler = (shutil.which(name, path=ENVIRONMENT["PATH"]) for name in ("java", "javac"))
    if not java or not compiler:
        return results.skip("java", "there is no java and javac")
    java = language("java", java)
    archive = build(java, compiler)
    for part in (subjects, options, variables, files):
        part(java, archive)
    java.end()
