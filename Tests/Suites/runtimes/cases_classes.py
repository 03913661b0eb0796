"""Java: what a launch records, what the inspection of a list finds, and programs whose learned classes are loaded before the
pause."""
import os
import shutil
import struct
import subprocess
import time
import zipfile

import cases_java
import instance
import results
from comparing import ENVIRONMENT
from instance import CHANGED, RUNTIMES
from learning import record

HERE = os.path.dirname(os.path.abspath(__file__))
AGENT = f"-agentpath:{RUNTIMES}/libgreenroom-jvm.so"
LIBRARY = """package {package};
public class {name} {{
    static class Inner {{ }}
    public static void greet() {{ System.out.println("{text} " + new Inner().getClass().getName() + {name}.class.getPackage().getImplementationVersion()); }}
}}
"""


class Bench:
    """A folder with a program and its libraries."""

    def __init__(self, java, compiler):
        self.java, self.compiler = java, compiler
        java.options = []
        self.folder = java.folder
        self.tools = os.path.dirname(os.path.realpath(compiler))
        self.compile(HERE + "/App.java", "classes")
        java.write("MANIFEST", "Main-Class: App\n")
        self.archive("app.jar", "classes", "MANIFEST")
        os.makedirs(self.folder + "/work")
        self.settle()

    def path(self, name):
        return os.path.join(self.folder, name)

    def compile(self, source, folder):
        subprocess.run([self.compiler, "-d", self.path(folder), source], check=True, stderr=subprocess.DEVNULL)

    def archive(self, name, folder, manifest=None, options=()):
        words = ["cfm", self.path(name), self.path(manifest)] if manifest else ["cf", self.path(name)]
        subprocess.run([self.tools + "/jar", *words, "-C", self.path(folder), ".", *options], check=True)

    def library(self, name, text, archive=None, manifest=None):
        """Compiles the class `name`, in a package, whose `greet` prints the text. Returns the archive, or the folder."""
        package, _, short = name.rpartition(".")
        folder = f"lib-{text}"
        source = self.java.write(f"{folder}.src/{short}.java", LIBRARY.format(package=package, name=short, text=text)
                                 .replace("package ;\n", ""))
        self.compile(source, folder)
        if not archive:
            return self.path(folder)
        if manifest:
            self.java.write(folder + ".MANIFEST", manifest)
        self.archive(archive, folder, folder + ".MANIFEST" if manifest else None)
        return self.path(archive)

    def settle(self):
        """Runs Java, to let time pass: a file that changed at or after the start of a paused process counts as changed."""
        subprocess.run([self.java.interpreter, "-version"], check=True, capture_output=True)

    def record(self, options, words, directory="work"):
        self.java.options = options
        return record(self.java, [*options, *words], ENVIRONMENT, self.path(directory), self.path("recorded"))

    def inspect(self, options, names, excluded=()):
        return inspect(self.java, options, names, excluded)

    def learn(self, options, words, directory="work"):
        """Returns the lines of a list that a launch with these words teaches."""
        return learned(self.java, options, self.record(options, words, directory))


def inspect(java, options, names, excluded=()):
    """Returns the findings: name -> (stamp,) or (reason, cause)."""
    given = "\n".join([*names, *("!" + name for name in excluded)])
    place = next(i for i, word in enumerate(options) if word in ("-jar", "-cp", "-classpath"))
    run = subprocess.run([java.interpreter, *options[:place], AGENT + "=inspect", *options[place:]], text=True, env=ENVIRONMENT,
                         cwd="/", input=given, capture_output=True)
    if run.returncode:
        raise instance.Refused(f"the inspection failed: {run.returncode} {run.stderr}")
    rows = [line.split("\t") for line in run.stdout.splitlines() if line]
    return {row[1]: tuple(row[2:]) for row in rows if row[0] in ("import", "refused")}


def learned(java, options, names):
    found = inspect(java, options, names)
    return [f"{name}\t{more[0]}" for name, more in found.items() if len(more) == 1]


def ok(name, condition, text=""):
    results.report("classes: " + name, condition, str(text)[:1500])


def names_of(imports):
    return [line.split("\t")[0] for line in imports]


def recording(bench):
    program = ["-jar", bench.path("app.jar")]
    names = bench.record(program, ["order"])
    own = [name for name in names if name.startswith("App")]
    ok("a record has the application's classes, in their order, before those of the JDK",
       own == names[:len(own)] and own.index("App$Base") < own.index("App$Derived") < own.index("App$Leaf"), names)
    ok("a record has nothing that Java has loaded before the launch", not {"java.lang.Object", "java.lang.String", "App"} & {*names}, names)
    names = bench.record(program, ["stream"])
    ok("a record has no class that Java has made", "java.util.stream.Collectors" in names
       and not any("$$Lambda" in name or "/" in name for name in names), [name for name in names if "Lambda" in name])
    ok("a program that ends by halt is recorded", "App$Leaf" in bench.record(program, ["halt"]))
    ok("a program that is killed teaches nothing", bench.record(program, ["kill"]) is None)


def inspection(bench):
    program = ["-jar", bench.path("app.jar")]
    names = bench.record(program, ["stream"]) + ["App$Leaf", "App$Other"]
    found = bench.inspect(program, names)
    ok("everything that a plain program loads may be loaded", all(len(more) == 1 for more in found.values()),
       [pair for pair in found.items() if len(pair[1]) != 1])
    stamped = [name for name, more in found.items() if len(more) == 1 and more[0] != "-"]
    ok("one class of an archive has the archive's stamp", len(stamped) == 1 and stamped[0].startswith("App"), stamped)
    found = bench.inspect(program, ["App$Base", "App$Absent", "no.Such", "not a class"])
    ok("a class that cannot be loaded is left, and no other", {name: len(more) for name, more in found.items()}
       == {"App$Base": 1, "App$Absent": 2, "no.Such": 2, "not a class": 2}, found)
    found = bench.inspect(program, ["App$Shape", "App$Base", "App$Leaf", "App$Other", "App$Pair"], ["App$Derived", "App$Pair"])
    ok("if one extends an excluded class, all of the application's are left", {more[:1] for more in found.values()} == {("excluded",)}, found)
    found = bench.inspect(program, ["App$Leaf", "App$Other", "App$Pair", "java.util.Scanner"], ["App$Pair"])
    ok("an excluded class is left, and no other", {name for name, more in found.items() if more[0] == "excluded"} == {"App$Pair"}, found)
    found = bench.inspect(program, ["sun.instrument.InstrumentationImpl", "App$Base", "java.util.Scanner"])
    ok("nothing of a program is loaded that changes classes while they are loaded",
       found["App$Base"] == ("generates", "sun.instrument.InstrumentationImpl") and len(found["java.util.Scanner"]) == 1, found)
    marker = bench.path("marker")
    bench.java.write("work/Trap.src/Trap.java", "public class Trap { static { try { new java.io.File(\"%s\").createNewFile(); } "
                     "catch (java.io.IOException error) { } } }" % marker)
    bench.compile(bench.path("work/Trap.src/Trap.java"), "trap")
    trap = ["-cp", bench.path("trap") + ":" + bench.path("app.jar"), "App"]
    found = bench.inspect(trap, ["Trap", "App$Leaf"])
    bench.settle()
    paused = bench.java.pause(options=trap, imports=["Trap\t" + found["Trap"][0]])
    paused.end()
    ok("neither an inspection nor a prewarm runs code of the program", len(found["Trap"]) == 1 and not os.path.exists(marker), found)


def equal(bench):
    """A learned list also serves launches that load other classes."""
    program = ["-jar", bench.path("app.jar")]
    lists = {subject: bench.learn(program, [subject]) for subject in ("order", "classes", "stream", "pool", "properties")}
    for learned, imports in lists.items():
        ok(f"a list of {learned}", len(imports) > 3, imports)
        for subject in ("order", "order x", "classes", "stream", "pool", "properties", "nothing"):
            bench.java.same(f"{subject} with the list of {learned}", subject.split(), options=program, imports=imports, directory="work")
    everything = list(dict.fromkeys(line for imports in lists.values() for line in imports))
    for subject in ("order", "classes", "stream", "pool", "properties"):
        bench.java.same_on_both(f"{subject} with all lists", [subject], options=program, imports=everything, directory="work")
    bench.java.same("another time zone", ["properties"], options=program, imports=everything, directory="work",
                    environment=dict(ENVIRONMENT, TZ="Asia/Tokyo"), prewarm=ENVIRONMENT)


def subjects(bench):
    """The subjects of Main.java, with a list that two of them have taught."""
    subprocess.run([bench.compiler, "-d", bench.path("main"), HERE + "/Main.java"], check=True, stderr=subprocess.DEVNULL)
    bench.java.write("main/text", "resource\n")
    bench.java.write("work/x", "")
    bench.settle()
    program = ["-cp", bench.path("main"), "Main"]
    imports = bench.learn(program, ["text"])
    imports += [line for line in bench.learn(program, ["threads"]) if line not in imports]
    for subject in cases_java.SUBJECTS:
        if subject != "memory":
            bench.java.same(subject + ", learned", [*cases_java.words_of(subject), "a b", "ü"], options=program, imports=imports,
                            directory="work", hides=cases_java.HIDES)


def libraries(bench):
    java, archive = bench.java, bench.path("app.jar")
    one = bench.library("lib.One", "one", "one.jar")
    bench.settle()

    def program(*entries):
        return ["-cp", ":".join([*entries, archive]), "App"]

    words = ["libraries", "lib.One"]
    imports = bench.learn(program(one), words)
    ok("the classes of a library are learned", {"lib.One", "lib.One$Inner"} <= {*names_of(imports)}, imports)
    java.same("a library", words, options=program(one), imports=imports)
    # The library's archive is the first that Java opens.
    mixed = ["-cp", bench.path("classes") + ":" + one, "App"]
    imports = bench.learn(mixed, words)
    ok("the classes of a library of a program in a folder are learned", {"lib.One", "lib.One$Inner"} <= {*names_of(imports)}, imports)
    java.same("a library of a program in a folder", words, options=mixed, imports=imports)

    # The archive differs from the one that was inspected, or from the one that was loaded.
    shutil.copy(one, bench.path("kept.jar"))
    other = bench.library("lib.One", "other", "other.jar")
    bench.settle()
    java.same("a library that is replaced while the process waits", words, options=program(one), imports=imports, anew=CHANGED,
              change=lambda paused: os.rename(other, one))
    bench.settle()
    cases_java.ends(java, "a library that was replaced since its inspection", program(one), imports)
    os.rename(bench.path("kept.jar"), one)
    bench.settle()

    # A file appears where it hides a class.
    folder = bench.path("front")
    os.makedirs(folder + "/lib")
    bench.settle()
    imports = bench.learn(program(folder, one), words)
    hiding = bench.library("lib.One", "hiding")
    java.same("a class that appears before a library", words, options=program(folder, one), imports=imports, anew=CHANGED,
              change=lambda paused: shutil.copy(hiding + "/lib/One.class", folder + "/lib/One.class"))
    bench.settle()
    java.same("another class in that folder", words, options=program(folder, one), imports=bench.learn(program(folder, one), words),
              change=lambda paused: shutil.copy(hiding + "/lib/One.class", folder + "/lib/Two.class"))
    front = bench.library("front.Two", "front", "front.jar", "Class-Path: absent.jar one.jar\n")
    bench.settle()
    words = ["libraries", "front.Two", "lib.One"]
    imports = bench.learn(program(front), words)
    ok("the classes of an archive that another one names are learned", {"lib.One", "front.Two"} <= {*names_of(imports)},
       bench.inspect(program(front), bench.record(program(front), words)))
    java.same("an archive that another one names", words, options=program(front), imports=imports)
    absent = bench.library("lib.One", "absent", "absent.new")
    bench.settle()
    java.same("an archive that another one names, and that appears", words, options=program(front), imports=imports, anew=CHANGED,
              change=lambda paused: os.rename(absent, bench.path("absent.jar")))

    # Java looks after the start for the archives that an archive names, because the program's own class
    # is in an earlier one.
    java.write("text.jar", "no archive")
    for title, entry in (("missing archive", "later.jar"), ("missing folder", "later/"), ("file that is no archive", "text.jar")):
        front = bench.library("front.Two", "front", "front.jar", f"Class-Path: {entry} one.jar\n")
        bench.settle()
        late = ["-cp", archive + ":" + front, "App"]
        imports = bench.learn(late, words)
        ok(f"a {title} that an archive names costs nothing", {"lib.One", "front.Two"} <= {*names_of(imports)},
           bench.inspect(late, bench.record(late, words)))
        java.same(f"a {title} that an archive names", words, options=late, imports=imports)
        made, place = bench.library("lib.One", "later", "later.new"), bench.path(entry)
        bench.settle()
        source, copy, remove = (bench.path("lib-later"), shutil.copytree, shutil.rmtree) if entry == "later/" else (made, shutil.copy, os.remove)
        java.same(f"a {title} that an archive names, and that appears", words, options=late, imports=imports, anew=CHANGED,
                  change=lambda paused: copy(source, place))
        remove(place)

    # The index of an archive names the archives in which Java looks for the rest.
    front = bench.library("front.Two", "front", "front.jar", "Class-Path: one.jar\n")
    subprocess.run([bench.tools + "/jar", "-i", "front.jar"], cwd=bench.folder, check=True, stderr=subprocess.DEVNULL)
    ok("an archive has an index", "META-INF/INDEX.LIST" in zipfile.ZipFile(front).namelist())
    for title, options in (("before the program's own class", program(front)), ("after it", ["-cp", archive + ":" + front, "App"])):
        bench.settle()
        imports = bench.learn(options, words)
        ok(f"the classes of an archive that an index names, {title}", {"lib.One", "front.Two"} <= {*names_of(imports)}, imports)
        java.same(f"an archive that an index names, {title}", words, options=options, imports=imports)
        shutil.copy(one, bench.path("kept.jar"))
        other = bench.library("lib.One", "indexed", "indexed.jar")
        bench.settle()
        java.same(f"an archive that an index names is replaced, {title}", words, options=options, imports=imports, anew=CHANGED,
                  change=lambda paused: os.rename(other, one))
        os.rename(bench.path("kept.jar"), one)

    # Two archives have classes of one package. The package has the version of the archive that is loaded
    # first.
    first = bench.library("both.One", "first", "first.jar", "Implementation-Version: 1\n")
    second = bench.library("both.Two", "second", "second.jar", "Implementation-Version: 2\n")
    bench.settle()
    words = ["libraries", "both.One", "both.Two"]
    found = bench.inspect(program(first, second), bench.record(program(first, second), words))
    ok("a package that two archives have is left", [found[name][0] for name in ("both.One", "both.Two")] == ["split"] * 2, found)
    imports = bench.learn(program(first, second), words)
    java.same("a package of two archives", words, options=program(first, second), imports=imports)
    java.same("a package of two archives, the other first", [*words[:1], *reversed(words[1:])], options=program(first, second),
              imports=imports)

    # A library with which programs make classes.
    maker = bench.library("org.objectweb.asm.ClassWriter", "maker", "maker.jar")
    bench.settle()
    found = bench.inspect(program(maker), bench.record(program(maker), ["libraries", "org.objectweb.asm.ClassWriter"]))
    ok("nothing of a program is loaded that makes classes", found["org.objectweb.asm.ClassWriter"] == ("generates", "org.objectweb.asm.ClassWriter"), found)


def others(bench):
    """Linking a class loads others, which are not in the list."""
    java = bench.java

    def compiled(folder, **sources):
        for name, source in sources.items():
            java.write(f"{folder}.src/{name}.java", source)
        subprocess.run([bench.compiler, "-cp", ":".join(bench.path(name) for name in ("one", "two")), "-d", bench.path(folder),
                        *(bench.path(f"{folder}.src/{name}.java") for name in sources)], check=True, stderr=subprocess.DEVNULL)

    # The program defines the type of a public field itself.
    word = "public class B { String word() { return \"%s\"; } }"
    compiled("defining", B=word % "file", Other="public class Other { public B b; String hello() { return (b = new B()).word(); } }",
             Defining="""public class Defining { public static void main(String[] words) throws Exception {
        if (words.length > 0)
            java.lang.invoke.MethodHandles.lookup().defineClass(java.nio.file.Files.readAllBytes(java.nio.file.Path.of(words[0])));
        System.out.println(new Other().hello());
    } }""")
    compiled("generated", B=word % "generated")
    program = ["-cp", bench.path("defining"), "Defining"]
    bench.settle()
    found = bench.inspect(program, bench.record(program, []), ["B"])
    imports = [f"{name}\t{more[0]}" for name, more in found.items() if len(more) == 1]
    ok("nothing of the application is loaded if that loads an excluded class", found["Other"] == ("excluded", "B"), found)
    java.same("a program that defines an excluded class", [bench.path("generated/B.class")], options=program, imports=imports)

    # The type of a public field is in another archive, with the same package.
    for number, name in (("one", "One"), ("two", "Two")):
        compiled(number, **{name: f"package q; public class {name} {{ }}"})
        java.write(number + ".MANIFEST", f"Implementation-Version: {number}\n")
        bench.archive(f"q-{number}.jar", number, number + ".MANIFEST")
    compiled("holding", Holder="public class Holder { public q.Two two; void go() { System.out.println(\"go\"); } }",
             Holding="""public class Holding { public static void main(String[] words) {
        if (words.length > 0) new Holder().go();
        System.out.println(new q.One().getClass().getPackage().getImplementationVersion());
        new Holder().go();
    } }""")
    program = ["-cp", ":".join(bench.path(name) for name in ("holding", "q-one.jar", "q-two.jar")), "Holding"]
    bench.settle()
    java.same("a field's type from another archive with the same package", [], options=program, imports=bench.learn(program, ["x"]))

    # The program sets a property that a class of the JDK reads when it is initialized.
    compiled("zip", Zip="""import java.util.zip.*;
public class Zip { public static void main(String[] words) throws Exception {
        System.setProperty("jdk.util.zip.inhibitZip64", "true");
        var bytes = new java.io.ByteArrayOutputStream();
        var file = new ZipOutputStream(bytes);
        for (int i = 0; i < 66000; i++) file.putNextEntry(new ZipEntry("e" + i));
        file.close();
        System.out.println(bytes.size());
    } }""")
    program = ["-cp", bench.path("zip"), "Zip"]
    bench.settle()
    java.same("a property that a program sets before it writes an archive", [], options=program, imports=bench.learn(program, []))


def special_archives(bench):
    java, archive = bench.java, bench.path("app.jar")
    words = ["libraries", "lib.One"]
    # Of several versions, Java takes the one for this Java.
    os.makedirs(bench.path("versions"))
    bench.java.write("multi.MANIFEST", "Multi-Release: true\n")
    old, new = bench.library("lib.One", "old"), bench.library("lib.One", "new")
    bench.archive("multi.jar", old[len(bench.folder) + 1:], "multi.MANIFEST", ["--release", "11", "-C", new, "."])
    program = ["-cp", bench.path("multi.jar") + ":" + archive, "App"]
    bench.settle()
    imports = bench.learn(program, words)
    java.same("an archive for several versions of Java", words, options=program, imports=imports)
    ok("its class is learned", "lib.One" in names_of(imports), imports)

    # Java checks a signature when it loads the first class.
    signed = bench.library("lib.One", "signed", "signed.jar")
    store = ["-keystore", bench.path("keys"), "-storepass", "secret"]
    subprocess.run([bench.tools + "/keytool", "-genkeypair", "-alias", "a", "-keyalg", "EC", "-dname", "CN=a", *store], check=True,
                   capture_output=True)
    subprocess.run([bench.tools + "/jarsigner", *store, signed, "a"], check=True, capture_output=True)
    program = ["-cp", signed + ":" + archive, "App"]
    bench.settle()
    found = bench.inspect(program, bench.record(program, words))
    ok("nothing of a signed archive is loaded", {found[name][0] for name in ("lib.One", "lib.One$Inner")} == {"signed"}, found)
    java.same("a signed archive", words, options=program, imports=bench.learn(program, words))

    # An archive may name an agent, which Java runs before main.
    marker = bench.path("agent-ran")
    bench.java.write("agent.src/Agent.java", "public class Agent { public static void agentmain(String words) throws Exception "
                     "{ new java.io.File(\"%s\").createNewFile(); } public static void main(String[] words) { } }" % marker)
    bench.compile(bench.path("agent.src/Agent.java"), "agent")
    bench.java.write("agent.MANIFEST", "Main-Class: Agent\nLauncher-Agent-Class: Agent\n")
    bench.archive("agent.jar", "agent", "agent.MANIFEST")
    bench.settle()
    cases_java.ends(java, "an archive that names an agent", ["-jar", bench.path("agent.jar")])
    ok("its agent has not run", not os.path.exists(marker))


def writing(bench):
    """A class that the program writes itself may be different at the next launch."""
    made = bench.library("Made", "made")
    folder = bench.path("output")
    os.makedirs(folder)
    program = ["-cp", folder + ":" + bench.path("app.jar"), "App"]
    names = bench.record(program, ["makes", made + "/Made.class", folder])
    ok("a class that the program has written is not recorded", "Made" not in names and "java.nio.file.CopyMoveHelper" not in names, names)


def limits(bench):
    """20,000 classes: the first ones are learned."""
    def class_file(name):
        def text(value):
            return b"\x01" + struct.pack(">H", len(value)) + value.encode()
        constants = text(name) + b"\x07\0\1" + text("java/lang/Object") + b"\x07\0\3"
        return b"\xca\xfe\xba\xbe" + struct.pack(">HHH", 0, 52, 5) + constants + struct.pack(">8H", 0x21, 2, 4, 0, 0, 0, 0, 0)[:14]

    path = bench.path("many.jar")
    with zipfile.ZipFile(path, "w") as file:
        for i in range(20000):
            file.writestr(f"many/C{i:05}.class", class_file(f"many/C{i:05}"))
    program = ["-cp", path + ":" + bench.path("app.jar"), "App"]
    bench.settle()
    names = bench.record(program, ["many", "20000"])
    size = os.path.getsize(bench.path("recorded"))
    ok("a record of 20,000 classes is as long as the daemon reads", 60000 < size <= 65536 and "many.C00000" in names,
       size)
    start = time.monotonic()
    found = bench.inspect(program, names)
    ok("an inspection takes 1,024 of them", len(found) == 1024, f"{len(found)} in {time.monotonic() - start} s")
    imports = [f"{name}\t{more[0]}" for name, more in found.items() if len(more) == 1]
    bench.java.same("20,000 classes", ["many", "20000"], options=program, imports=imports)
    long = ["many." + "x" * 480 + str(i) for i in range(1024)]
    found = bench.inspect(program, long + ["App$Leaf"])
    ok("names that nobody has are left", all(len(more) == 2 for more in found.values()), len(found))


def run():
    java, compiler = (shutil.which(name, path=ENVIRONMENT["PATH"]) for name in ("java", "javac"))
    if not java or not compiler:
        return results.skip("classes", "there is no java and javac")
    java = cases_java.language("java", java)
    prepare = java.prepare
    java.prepare = lambda options, imports, environment: prepare(options or java.options, imports, environment)
    bench = Bench(java, compiler)
    for part in (recording, inspection, equal, subjects, libraries, others, special_archives, writing, limits):
        part(bench)
    java.end()
