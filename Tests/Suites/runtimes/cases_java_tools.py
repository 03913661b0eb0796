"""Maven and Ant: scripts of the shell that execute Java. What they execute is paused with the classes that a first launch has
taught, and compared with the same command executed directly; also whether each leaves the same files.
"""
import os
import shutil
import subprocess

import cases_classes
import cases_java
import instance
import learning
import results
from comparing import ENVIRONMENT, is_wanted

# The last of Java's own words: the class with main, and what the script itself adds after it.
ENDS = {"ant": ["org.apache.tools.ant.launch.Launcher", "-cp", ""], "mvn": ["org.codehaus.plexus.classworlds.launcher.Launcher"]}
BUILD = """<project name="a" default="all">
  <property environment="env"/>
  <target name="all" description="does all">
    <echo>${env.FOO} ${user.dir} ${basedir} ${ant.version} ${ant.java.version} ${given}</echo>
    <mkdir dir="out/in"/>
    <echo file="out/in/text" append="true">text${line.separator}</echo>
    <copy todir="out/copy"><fileset dir="out/in"/></copy>
    <property file="values"/><echo>${one} ${two}</echo>
    <delete dir="out"/>
  </target>
  <target name="fails"><fail message="no"/></target>
  <target name="runs"><exec executable="sh"><arg value="-c"/><arg value="pwd; echo $FOO; exit 3"/></exec></target>
  <target name="asks"><input message="what?" addproperty="said"/><echo>said ${said}</echo></target>
  <target name="forks"><java classname="NoSuch" fork="false" failonerror="true"/></target>
  <target name="secure"><java classname="org.apache.tools.ant.Main" args="-version"><permissions/></java></target>
</project>
"""
POM = """<project><modelVersion>4.0.0</modelVersion><groupId>a</groupId><artifactId>b</artifactId><version>1</version>
<packaging>pom</packaging></project>
"""
# The runs of each tool, the one that teaches first; with the text of standard input.
RUNS = {
    "ant": [(["-q"], b""), ([], b""), (["-version"], b""), (["-help"], b""), (["-p"], b""), (["-f", "nowhere.xml"], b""),
            (["-Dgiven=x y", "-v", "all"], b""), (["fails"], b""), (["runs"], b""), (["asks"], b"this\n"), (["forks"], b""),
            (["secure"], b""), (["-f", "broken.xml"], b""), (["nosuch"], b""), (["-S", "all"], b"")],
    "mvn": [(["--version"], b""), (["--help"], b""), (["-o", "-q", "validate"], b""), (["-o", "validate"], b""), ([], b""),
            (["-o", "nosuch"], b""), (["-o", "-f", "nowhere.xml", "validate"], b""), (["-o", "-f", "broken.xml", "validate"], b""),
            (["-X", "-o", "validate"], b""), (["--no-such"], b""), (["-o", "-Dgiven=x y", "-B", "validate"], b"")],
}
# What differs in each run: times, and Ant's own temporary files.
HIDES = [(rb"Total time:[^\n]*|Finished at:[^\n]*", b"TIME"), (rb"\[ ?\d+ ?m?s\]", b"TIME"), (rb"Options: \[[^\n]*", b"OPTIONS"),
         (rb"\d+(\.\d+)? ?(s|ms)\b", b"TIME"), (rb"Free memory:[^\n]*|\d+M/\d+M", b"MEMORY")]


def command(tool, words, folder):
    """The words of Java that the script executes, without its program: another program stands for Java meanwhile."""
    told = folder + "/told"
    if os.path.exists(told):
        os.remove(told)
    subprocess.run([tool, *words], check=True, stdout=subprocess.DEVNULL, cwd=folder + "/work",
                   env={**ENVIRONMENT, "JAVA_HOME": folder, "JAVACMD": folder + "/bin/java"})
    with open(told) as file:
        return file.read().split("\n")[:-1]


def tree(folder):
    return {os.path.relpath(os.path.join(place, name), folder) for place, _, names in os.walk(folder) for name in names}


def cases(java, name):
    tool = shutil.which(name, path=ENVIRONMENT["PATH"])
    if not tool:
        return results.skip(f"java: {name}", f"there is no {name}")
    files = {"build.xml": BUILD, "values": "one=1\ntwo=${one}2\n", "broken.xml": "<project><target>", "pom.xml": POM}
    for path, text in files.items():
        java.write("work/" + path, text)
    java.write("bin/java", f"#!/bin/sh\nprintf '%s\\n' \"$@\" >>{java.folder}/told\n", mode=0o755)
    environment = dict(ENVIRONMENT, HOME=java.folder)
    told = command(tool, RUNS[name][0][0], java.folder)
    options = told[:-len(RUNS[name][0][0])]
    if options[-len(ENDS[name]):] != ENDS[name]:
        return results.report(f"java: {name}: its script executes what is known", False, str(options))
    # The arguments that the script adds belong to the launch, because a pause has none.
    added = ENDS[name][1:]
    options = options[:len(options) - len(added)]
    java.options = options
    first = [*added, *RUNS[name][0][0]]
    names = learning.record(java, [*options, *first], environment, java.folder + "/work", java.folder + "/recorded")
    imports = cases_classes.learned(java, options, names)
    results.report(f"java: {name}: classes are learned", len(imports) > 200, f"{len(imports)} of {len(names)}")
    for words, given in RUNS[name]:
        title = f"{name} {' '.join(words)}, {len(imports)} classes"
        if not is_wanted(title):
            continue
        before = tree(java.folder + "/work")
        java.same(title, [*added, *words], options=options, imports=imports, environment=environment, directory="work", given=given,
                  hides=HIDES)
        java.same_on_terminal(title, [*added, *words], [], options=options, imports=imports, environment=environment,
                              directory="work", typed=given, hides=HIDES)
        java.same(title + ", other variables", [*added, *words], options=options, imports=imports, directory="work", given=given,
                  environment=dict(environment, FOO="other", TZ="Asia/Tokyo"), prewarm=environment, hides=HIDES)
        left = tree(java.folder + "/work") - before
        for path in left:
            os.remove(os.path.join(java.folder, "work", path))


def run():
    path = shutil.which("java", path=ENVIRONMENT["PATH"])
    if not path:
        return results.skip("java: tools", "there is no java")
    java = cases_java.language("java", path)
    prepare = java.prepare
    java.prepare = lambda options, imports, environment: prepare(options or java.options, imports, environment)
    for name in RUNS:
        cases(java, name)
    java.end()
