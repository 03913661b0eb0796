"""Real work of real programs: each in a folder with inputs, whose files are compared afterwards."""
import bz2
import gzip
import hashlib
import io
import json
import lzma
import os
import shutil
import sqlite3
import stat
import tarfile
import zipfile
import zlib


class Job:
    def __init__(self, *command, given="", name=None, ignore=()):
        """`given`: its input. `ignore`: files, by the beginning of their names, that hold times or such."""
        self.program, self.arguments = command[0], list(command[1:])
        self.given = given.encode() if isinstance(given, str) else given
        self.name = name or " ".join(command).replace("\n", "\\n")[:100]
        self.ignore = tuple(ignore)


WORDS = "pear apple quince fig apple Birne Äpfel 10 9 2 fig\n"
TABLE = "name,count,price\npear,3,1.25\napple,10,0.5\nfig,7,2\nquince,1,4.75\n"
TEXT = "The green room is where actors wait.\nThey are called when their scene comes.\n\nNobody waits twice.\n" * 8
CODE = """#include <stdio.h>
#define TIMES 3
static int square(int x) { return x * x; }
int main(int argc, char **argv) {
    for (int i = 0; i < TIMES; i++) printf("%d %s\\n", square(i + argc), argv[0] ? "named" : "nameless");
    return argc > 1 ? 3 : 0;
}
"""
PAGE = ".TH GREEN 1 2026-01-01\n.SH NAME\ngreen \\- a room\n.SH DESCRIPTION\n.B green\nis where one\n.I waits\nfor long.\n"
XML = '<?xml version="1.0"?>\n<rooms><room id="1"><name>green</name></room><room id="2"><name>blue</name></room></rooms>\n'
DATA = {"rooms": [{"name": "green", "seats": 12, "open": True}, {"name": "blue", "seats": 3, "open": False}], "n": None}
MAKE = "all: a.out b.out\n%.out: %.in\n\ttr a-z A-Z <$< >$@\n\t@echo made $@\nclean:\n\trm -f *.out\n"
PICTURE = b"P6\n16 16\n255\n" + bytes((x * 16 + c * 50) % 256 for y in range(16) for x in range(16) for c in range(3))


def make_inputs(folder):
    """Made once: `lay_out` copies it, with fixed times."""
    def put(name, content):
        os.makedirs(os.path.dirname(f"{folder}/{name}"), exist_ok=True)
        with open(f"{folder}/{name}", "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)

    put("words", WORDS.replace(" ", "\n"))
    put("table.csv", TABLE)
    put("text", TEXT)
    put("text2", TEXT.replace("twice", "three times").replace("called", "CALLED", 2))
    put("code.c", CODE)
    put("other.c", CODE.replace("int main", "int entry"))
    put("page.1", PAGE)
    put("rooms.xml", XML)
    put("data.json", json.dumps(DATA))
    put("Makefile", MAKE)
    put("a.in", "first\n")
    put("b.in", "second\n")
    put("picture.ppm", PICTURE)
    put("binary", bytes(range(256)) * 16)
    put("latin1", "Grün und Äpfel\n".encode("latin-1"))
    put("utf8", "Grün und Äpfel – € 3\n")
    put("tree/one/x", "x\n")
    put("tree/two/y", "yy\n")
    put("tree/two/deep/z", "zzz\n")
    put("script.sh", "#!/bin/sh\nset -e\nfor i in 1 2 3; do echo $i $1; done | sed 's/^/> /'\n[ -n \"$1\" ] && exit 4\n")
    put("script.py", "import sys, json, os\nprint(sorted(json.load(open('data.json'))), sys.argv[1:], os.getcwd() == os.path.abspath('.'))\n"
        "open('out', 'w').write(sys.stdin.read().upper())\nsys.exit(7)\n")
    put("script.pl", "use strict; my %c; while (<>) { $c{$_}++ for split } print map {\"$_ $c{$_}\\n\"} sort keys %c;\n")
    put("script.awk", "BEGIN { FS = \",\" } NR > 1 { sum += $2 * $3; print $1 > \"names\" } END { printf \"%.2f\\n\", sum }\n")
    put("script.sed", "s/green/red/g\n/^$/d\n2,3y/abc/xyz/\n$!N\nP\nD\n")
    put("script.bc", "scale=20\n4*a(1)\n2^100\n")
    put("script.tcl", "set n 0\nforeach l [split [read stdin] \\n] { incr n [string length $l] }\nputs $n\nexit 2\n")
    put("program.lua", "local n = 0 for line in io.lines('text') do n = n + #line end print(n, arg[1]) os.exit(5)\n")
    put("program.rb", "puts File.readlines('text').map(&:length).sum, ARGV.inspect; exit 6\n")
    put("patch", "--- a/words\n+++ b/words\n@@ -1,3 +1,3 @@\n-pear\n+plum\n apple\n quince\n")
    put("key", "correct horse battery staple\n")
    text = TEXT.encode()
    put("text.gz", gzip.compress(text, mtime=0))
    put("text.bz2", bz2.compress(text))
    put("text.xz", lzma.compress(text))
    put("text.zlib", zlib.compress(text))
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name in ("words", "tree/one/x", "tree/two/y"):
            tar.add(f"{folder}/{name}", name, filter=lambda one: one.replace(mtime=10 ** 9, uid=0, gid=0, uname="root", gname="root"))
    put("tree.tar", archive.getvalue())
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr(zipfile.ZipInfo("inside/words"), WORDS)
        file.writestr(zipfile.ZipInfo("inside/text"), TEXT)
    put("files.zip", archive.getvalue())
    database = sqlite3.connect(folder + "/rooms.db")
    database.executescript("create table room(name text, seats int); insert into room values('green', 12), ('blue', 3);")
    database.close()
    os.symlink("words", folder + "/link")
    os.chmod(folder + "/script.sh", 0o755)
    for place, folders, names in os.walk(folder, topdown=False):
        for name in [*names, *folders]:
            os.utime(f"{place}/{name}", (10 ** 9, 10 ** 9), follow_symlinks=False)
    os.utime(folder, (10 ** 9, 10 ** 9))


def lay_out(inputs, folder, user):
    shutil.copytree(inputs, folder, dirs_exist_ok=True, symlinks=True)
    for place, folders, names in os.walk(folder):
        for name in [*names, *folders]:
            os.lchown(f"{place}/{name}", user, user)
    os.chown(folder, user, user)


def files(job, folder):
    """Every file below: what it is, and its contents."""
    found = {}
    for place, folders, names in os.walk(folder):
        for name in [*names, *folders]:
            path = f"{place}/{name}"
            relative = os.path.relpath(path, folder)
            if any(name.startswith(start) for start in job.ignore):
                continue
            status = os.lstat(path)
            content = ""
            if stat.S_ISLNK(status.st_mode):
                content = os.readlink(path)
            elif stat.S_ISREG(status.st_mode):
                with open(path, "rb") as file:
                    content = hashlib.sha256(file.read()).hexdigest()
            found[relative] = f"{status.st_mode:o} {content}"
    return found


ALL = [
    # --- Text
    Job("cat", "-A", "text"), Job("cat", "-", "words", given="from input\n"), Job("tac", "text"), Job("rev", "words"),
    Job("head", "-n", "3", "text"), Job("tail", "-c", "20", "text"), Job("sort", "words"), Job("sort", "-n", "-r", "-u", "words"),
    Job("sort", "-t,", "-k2n", "-o", "sorted", "table.csv"), Job("uniq", "-c", given="a\na\nb\n"), Job("wc", "text", "words"),
    Job("cut", "-d,", "-f2", "table.csv"), Job("paste", "words", "table.csv"), Job("join", "-t,", "table.csv", "table.csv"),
    Job("comm", "text", "text2"), Job("diff", "-u", "--label", "a", "--label", "b", "text", "text2"), Job("cmp", "text", "text2"),
    Job("tr", "a-z", "A-Z", given=TEXT), Job("fold", "-w", "20", "text"), Job("fmt", "-w", "30", "text"), Job("nl", "text"),
    Job("expand", "Makefile"), Job("unexpand", "-a", "text"), Job("split", "-l", "5", "text", "part-"), Job("csplit", "text", "/Nobody/", "{2}"),
    Job("pr", "-h", "title", "-D", "today", "text"), Job("od", "-c", "binary"), Job("hexdump", "-C", "binary"), Job("xxd", "binary"),
    Job("strings", "-n", "6", "binary"), Job("grep", "-n", "scene", "text"), Job("grep", "-rc", "y", "tree"), Job("grep", "-P", r"^\w+ green", "text"),
    Job("egrep", "-o", "[A-Z][a-z]+", "text"), Job("fgrep", "nothing of it", "text"), Job("sed", "-f", "script.sed", "text"),
    Job("sed", "-i", "s/apple/plum/", "words"), Job("awk", "-f", "script.awk", "table.csv"), Job("mawk", "-f", "script.awk", "table.csv"),
    Job("gawk", "-f", "script.awk", "table.csv"), Job("perl", "script.pl", "text"), Job("perl", "-pi", "-e", "s/fig/FIG/", "words"),
    Job("iconv", "-f", "latin1", "-t", "utf8", "latin1"), Job("iconv", "-f", "utf8", "-t", "ascii//TRANSLIT", "utf8"), Job("column", "-t", "-s,", "table.csv"),
    Job("look", "a", "words"), Job("shuf", "-n", "3", "--random-source=binary", "words"), Job("numfmt", "--to=iec", given="1000\n1048576\n"),
    Job("seq", "-s", " ", "1", "3", "30"), Job("printf", "%s|%5d\n", "a", "7"), Job("echo", "-e", "a\\tb"), Job("tee", "copy", given="tee\n"),
    Job("tsort", given="a b\nb c\n"), Job("ptx", "words"), Job("factor", "1234567890"), Job("bc", "-lq", "script.bc"), Job("dc", "-e", "2 100 ^ p"),
    Job("expr", "7", "*", "6"), Job("test", "-f", "missing"), Job("envsubst", given="$HOME is ${TERM}\n"),
    # --- Files
    Job("ls", "-lnR", "--time-style=+%s", "tree"), Job("ls", "-1F"), Job("cp", "-a", "tree", "copy"), Job("mv", "words", "moved"), Job("rm", "-rf", "tree"),
    Job("mkdir", "-p", "-m", "700", "a/b/c"), Job("rmdir", "missing"), Job("ln", "-s", "words", "second"), Job("ln", "words", "hard"), Job("touch", "-d", "@5", "new"),
    Job("chmod", "-R", "u=rwX,go=", "tree"), Job("install", "-m", "640", "-D", "words", "in/place"), Job("dd", "if=text", "of=out", "bs=7", "count=3", "status=none"),
    Job("truncate", "-s", "10", "text"), Job("find", "tree", "-type", "f", "-size", "-2"), Job("find", ".", "-name", "*.in", "-exec", "cp", "{}", "{}.copy", ";"),
    Job("xargs", "-n2", "echo", given="a b c d e"), Job("xargs", "-P2", "-n1", "touch", given="one two three"), Job("du", "-ab", "--apparent-size", "tree"),
    Job("stat", "-c", "%n %s %a %Y", "words", "link"), Job("readlink", "-f", "link"), Job("realpath", "--relative-to=.", "tree/../link"),
    Job("basename", "/a/b.c", ".c"), Job("dirname", "/a/b.c"), Job("pathchk", "a"), Job("file", "binary", "rooms.db", "picture.ppm", "page.1"), Job("namei", "-m", "tree/one/x"),
    Job("mktemp", "-u", "fixed.XXXXXX", name="mktemp"), Job("shred", "-n1", "--zero", "-u", "words"), Job("sum", "text"), Job("cksum", "text"), Job("md5sum", "text", "words"),
    Job("sha256sum", "text"), Job("b2sum", "text"), Job("base64", "-w", "20", "binary"), Job("base32", "text"), Job("tree", "-n", "tree"), Job("rename", "s/in/IN/", "a.in", "b.in"),
    # --- Archives
    Job("tar", "xf", "tree.tar"), Job("tar", "tvf", "tree.tar", "--utc"), Job("tar", "cf", "out.tar", "--sort=name", "tree"), Job("tar", "czf", "out.tgz", "--mtime=@0", "tree", ignore=["out.tgz"]),
    Job("gzip", "-dk", "text.gz"), Job("gzip", "-n9", "text"), Job("zcat", "text.gz"), Job("bzip2", "text"), Job("bunzip2", "-k", "text.bz2"), Job("xz", "-k", "text"), Job("unxz", "-c", "text.xz"),
    Job("zstd", "-q", "text"), Job("lz4", "-q", "text", "out.lz4"), Job("unzip", "-o", "files.zip"), Job("zip", "-Xq", "-r", "out.zip", "tree"), Job("cpio", "-o", "--reproducible", given="words\ntext\n"),
    Job("ar", "rcD", "out.a", "words"), Job("7z", "x", "files.zip", name="7z x"), Job("pigz", "-kn", "text"), Job("zgrep", "-c", "scene", "text.gz"), Job("pax", "-wf", "out.pax", "tree"),
    # --- Shells and interpreters
    Job("sh", "script.sh", "word"), Job("bash", "-c", "a=(1 2 3); echo ${a[@]:1} $(( 2 ** 40 )) $0; trap 'echo bye' EXIT; exit 9", "name"),
    Job("bash", "-c", "diff <(sort words) <(sort -r words) | head -n 3; (echo sub; exit 2); echo $?"), Job("dash", "-c", "kill -TERM $$"), Job("dash", "-c", "umask; ulimit -n >/dev/null; pwd | wc -l"),
    Job("zsh", "-fc", "print -l *.in(:r)"), Job("fish", "-N", "-c", "for f in *.in; echo $f; end"), Job("busybox", "sh", "-c", "seq 3 | tac"), Job("python3", "script.py", "a", "b", given="input\n"),
    Job("python3", "-c", "import subprocess, sys; print(subprocess.run(['sort', 'words'], capture_output=True).stdout); sys.exit(3)"),
    Job("python3", "-c", "import multiprocessing as m\nif __name__ == '__main__':\n    with m.get_context('fork').Pool(2) as p: print(p.map(abs, [-1, -2]))", name="python3 multiprocessing"),
    Job("python3", "-c", "import sqlite3, zlib, hashlib, ssl, decimal, ctypes; print(hashlib.sha1(b'x').hexdigest(), ctypes.CDLL(None).abs(-4))"),
    Job("python3", "-m", "json.tool", "data.json"), Job("python3", "-m", "py_compile", "script.py", ignore=["script.cpython"]), Job("lua5.4", "program.lua", "x"), Job("ruby", "program.rb", "x"),
    Job("tclsh", "script.tcl", given="one\ntwo\n"), Job("node", "-e", "console.log(JSON.parse(require('fs').readFileSync('data.json')).rooms.length, process.argv.length); process.exitCode = 3"),
    Job("php", "-r", "echo count(json_decode(file_get_contents('data.json'), true)), PHP_EOL;"), Job("guile", "-c", "(display (expt 2 70))"), Job("ocaml", "-version"), Job("java", "-version"), Job("m4", given="define(`x', `y')x\n"),
    # --- Data
    Job("jq", ".rooms[] | select(.open) | .name", "data.json"), Job("jq", "-S", ".", "data.json"), Job("sqlite3", "rooms.db", "select sum(seats) from room; insert into room values('red', 1);"),
    Job("xmllint", "--xpath", "//room[2]/name/text()", "rooms.xml"), Job("xmllint", "--format", "rooms.xml"), Job("openssl", "dgst", "-sha512", "text"), Job("openssl", "enc", "-aes-128-cbc", "-nosalt", "-pbkdf2", "-pass", "file:key", "-in", "text", "-out", "secret"),
    Job("openssl", "rand", "-hex", "0"), Job("gpg", "--batch", "--print-md", "SHA256", "text", ignore=[".gnupg"]), Job("uuidgen", "--sha1", "--namespace", "@dns", "--name", "green.example"), Job("cal", "1", "2026"), Job("date", "-u", "-d", "@0", "+%F %T"),
    Job("units", "1 mile", "km"), Job("dot", "-Tsvg", given="digraph { a -> b }"), Job("gnuplot", "-e", "set terminal dumb; plot x"), Job("convert", "picture.ppm", "-resize", "8x8", "out.ppm"), Job("pnmtopng", "picture.ppm"), Job("cjpeg", "picture.ppm"),
    Job("ffmpeg", "-v", "error", "-nostdin", "-i", "picture.ppm", "-fflags", "+bitexact", "-flags", "+bitexact", "out.png"), Job("ffprobe", "-v", "error", "-show_streams", "picture.ppm"), Job("sox", "-n", "-D", "-r", "8000", "out.wav", "synth", "0.1", "sine", "440"),
    # --- Development
    Job("gcc", "-c", "code.c", "-o", "code.o"), Job("gcc", "-O2", "code.c", "-o", "program"), Job("gcc", "-E", "-P", "code.c"), Job("g++", "-x", "c++", "-fsyntax-only", "code.c"), Job("cc", "-Wall", "-S", "code.c"), Job("clang", "-O1", "-c", "code.c"),
    Job("cpp", "-P", "code.c"), Job("as", "-o", "out.o", given=".globl f\nf: ret\n"), Job("ld", "--version"), Job("nm", "-D", "/bin/true"), Job("objdump", "-h", "/bin/true"), Job("readelf", "-d", "/bin/true"), Job("size", "/bin/true"), Job("objcopy", "--only-section=.text", "-O", "binary", "/bin/true", "text.bin"),
    Job("make", "-s"), Job("make", "-j2", "all"), Job("make", "-n", "clean"), Job("patch", "-p1", "-i", "patch"), Job("diff3", "-m", "text", "text", "text2"), Job("indent", "-st", "code.c"), Job("ctags", "-f", "-", "code.c"), Job("flex", "--version"), Job("bison", "--version"),
    Job("cmake", "-E", "sha256sum", "text"), Job("ninja", "--version"), Job("pkg-config", "--list-package-names", name="pkg-config"), Job("ldd", "/bin/true", name="ldd"), Job("strace", "-c", "-o", "/dev/null", "true"), Job("gdb", "-nx", "-batch", "-ex", "print 6*7"), Job("valgrind", "-q", "--error-exitcode=9", "true"),
    Job("git", "-c", "init.defaultBranch=main", "init", "made"), Job("git", "hash-object", "text"), Job("git", "diff", "--no-index", "text", "text2"), Job("git", "-c", "core.abbrev=8", "stripspace", given="a  \n\n\nb\n"), Job("git", "config", "--file", "c", "a.b", "c"), Job("git", "log"),
    Job("go", "version"), Job("rustc", "--version"), Job("swift", "--version"), Job("shellcheck", "script.sh"), Job("perldoc", "-T", "-f", "lc"), Job("msgfmt", "--version"), Job("xgettext", "-o", "-", "--omit-header", "-C", "code.c"),
    # --- Documents
    Job("groff", "-man", "-Tascii", "page.1"), Job("groff", "-Tps", "-man", "page.1"), Job("mandoc", "-Tutf8", "page.1"), Job("man", "-l", "page.1"), Job("nroff", "-man", "page.1"), Job("col", "-b", given="a\bab\n"), Job("pandoc", "-f", "markdown", "-t", "html", given="# a\n\n*b*\n"), Job("ps2pdf", "--version"), Job("aspell", "-a", "--lang=en", given="helo\n"),
    Job("vim.tiny", "-es", "-u", "NONE", "-i", "NONE", "-c", "%s/pear/plum/", "-c", "wq", "words"), Job("ed", "-s", "words", given=",s/pear/plum/\nw\nq\n"), Job("less", "text"), Job("more", "text"),
    # --- The system, as far as it stays the same
    Job("id"), Job("whoami"), Job("groups"), Job("uname", "-srm"), Job("nproc"), Job("tty"), Job("pwd"), Job("env"), Job("printenv", "HOME"), Job("hostname"), Job("arch"), Job("getconf", "PAGE_SIZE"), Job("locale"), Job("logname"), Job("stty", "-a"), Job("getent", "passwd", "root"), Job("dpkg", "-L", "base-files"), Job("dpkg-query", "-W", "-f", "${Package} ${Version}\n", "bash"),
    Job("apt-cache", "policy", "bash"), Job("apt-mark", "showhold"), Job("ip", "-brief", "link"), Job("ss", "-ltn"), Job("timeout", "0.1", "sleep", "10"), Job("nice", "-n", "5", "nice"), Job("setsid", "-w", "echo", "session"), Job("nohup", "echo", "x"), Job("env", "-i", "A=1", "env"), Job("stdbuf", "-oL", "cat", "words"), Job("time", "-f", "%x", "true", name="time"), Job("script", "-qc", "tty >/dev/null; echo in", "/dev/null"), Job("flock", "words", "echo", "locked"), Job("getopt", "-o", "ab:", "--", "-b", "x", "-a"), Job("watch", "--version"), Job("ps", "-o", "comm=", "--pid", "1"), Job("kill", "-l"), Job("dbus-daemon", "--session", "--introspect"), Job("curl", "-s", "file:///etc/debian_version"), Job("wget", "-q", "-O", "-", "http://127.0.0.1:9/"), Job("ssh-keygen", "-l", "-f", "missing"), Job("rsync", "-a", "tree/", "mirror/"),
]
