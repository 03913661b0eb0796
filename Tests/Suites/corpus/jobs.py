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
import struct
import tarfile
import wave
import zipfile
import zlib


class Job:
    def __init__(self, *command, given="", typed=None, name=None, ignore=()):
        """`given`: the input. `typed`: runs on a terminal; pairs of a prompt and the keys that are then
        typed. `ignore`: how the names of files begin that are not compared, because they hold times
        or the like."""
        self.program, self.arguments = command[0], list(command[1:])
        self.given = given.encode() if isinstance(given, str) else given
        if typed is not None:
            self.given = [(prompt.encode(), keys.encode()) for prompt, keys in typed]
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
STYLE = """<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:output method="text"/>
<xsl:template match="/"><xsl:for-each select="//room"><xsl:value-of select="name"/>;</xsl:for-each></xsl:template></xsl:stylesheet>
"""
ASSEMBLY = "global f\nsection .text\nf: mov eax, 42\n   ret\nsection .data\nwords: dd 1, 2, 3\n"
GRAMMAR = "%token WORD\n%%\nlist: %empty | list WORD;\n%%\nint yylex(void) { return 0; }\nvoid yyerror(const char *s) {}\n"
LEXER = "%option noyywrap\n%%\n[a-z]+ { return 1; }\n.|\\n ;\n"
PLAN = "Maximize\n value: 3 x + 2 y\nSubject To\n a: x + y <= 4\n b: x + 3 y <= 6\nBounds\n x <= 3\nEnd\n"
TUNE = "X:1\nT:Green\nM:4/4\nL:1/4\nK:C\nCDEF|GABc|\n"
FASTA = ">one\nACGTACGTTTGACA\n>two\nGGGATTACA\n"
PICTURE = b"P6\n16 16\n255\n" + bytes((x * 16 + c * 50) % 256 for y in range(16) for x in range(16) for c in range(3))


def pdf(content):
    """One page in Helvetica."""
    objects = ("<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>",
               "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
               f"<</Length {len(content)}>>stream\n{content}\nendstream", "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>")
    text, places = "%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(text))
        text += f"{number} 0 obj{body}endobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    return (f"{text}xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer<</Size {len(objects) + 1}/Root 1 0 R>>\n"
            f"startxref\n{len(text)}\n%%EOF\n")


def make_inputs(folder):
    """Makes the folder of inputs, with fixed times; `lay_out` copies it for each run."""
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
    put("style.xsl", STYLE)
    put("code.asm", ASSEMBLY)
    put("plain.c", "int square(int x) { return x * x; }\n")
    put("program.f90", "program green\n  integer :: i\n  print '(i6)', (i * i, i = 1, 5)\nend program\n")
    put("green.adb", "with Ada.Text_IO; procedure Green is begin Ada.Text_IO.Put_Line (Integer'Image (2 ** 20)); end Green;\n")
    put("program.d", "int square(int x) { return x * x; }\n")
    put("program.ml", "let () = print_int (List.fold_left (+) 0 [1; 2; 3]); print_newline (); exit 3\n")
    put("program.pas", "program green; var i: integer; begin for i := 1 to 3 do writeln(i * i) end.\n")
    put("program.ll", "define i32 @f(i32 %x) {\n  %y = add i32 %x, 2\n  %z = add i32 %y, 3\n  ret i32 %z\n}\n")
    put("program.go", "package main\nimport  \"fmt\"\nfunc main( ) {\nfmt.Println( 1+2 )\n}\n")
    put("program.rs", "fn main() { println!(\"{}\", (1..=5).product::<i32>()); }\n")
    put("program.js", "let s = ''; process.stdin.on('data', d => s += d).on('end', () => console.log(s.split('\\n').sort().join()));\n")
    put("program.php", "<?php foreach (file('words') as $n => $l) { echo $n, ':', strrev(trim($l)), ' '; } exit(4);\n")
    put("program.scm", "(define (f n) (if (< n 2) 1 (* n (f (- n 1))))) (display (f 20)) (newline)\n")
    put("program.cmake", "file(READ table.csv t)\nstring(REGEX MATCHALL \"[a-z]+\" w \"${t}\")\nmessage(\"${w}\")\n")
    put("SConstruct", "Command('built', 'words', 'sort $SOURCE >$TARGET')\n")
    put("grammar.y", GRAMMAR)
    put("lexer.l", LEXER)
    put("plan.lp", PLAN)
    put("tune.abc", TUNE)
    put("genome.fa", FASTA)
    put("a.bed", "one\t1\t8\ntwo\t2\t5\n")
    put("b.bed", "one\t4\t12\n")
    put("data.cdl", "netcdf data { dimensions: x = 3; variables: int v(x); data: v = 1, 2, 3; }\n")
    put("page.ps", "%!PS\n/Helvetica findfont 24 scalefont setfont 72 720 moveto (Green room) show showpage\n")
    put("page.pdf", pdf("BT /F1 24 Tf 72 720 Td (Green room) Tj ET"))
    put("bits.pbm", "P1\n8 8\n" + "0 0 1 1 1 1 0 0\n" * 8)
    sound = io.BytesIO()
    with wave.open(sound, "wb") as file:
        file.setparams((1, 2, 8000, 0, "NONE", ""))
        file.writeframes(b"".join(struct.pack("<h", (i * 777) % 20000 - 10000) for i in range(1600)))
    put("sound.wav", sound.getvalue())
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
    Job("id"), Job("whoami"), Job("groups"), Job("uname", "-srm"), Job("nproc"), Job("tty"), Job("pwd"), Job("env", "-u", "HOME", "-u", "SHELL"), Job("printenv", "HOME"), Job("hostname"), Job("arch"), Job("getconf", "PAGE_SIZE"), Job("locale"), Job("logname"), Job("stty", "-a"), Job("getent", "passwd", "root"), Job("dpkg", "-L", "base-files"), Job("dpkg-query", "-W", "-f", "${Package} ${Version}\n", "bash"),
    Job("apt-cache", "policy", "bash"), Job("apt-mark", "showhold"), Job("ip", "-brief", "link"), Job("ss", "-ltn"), Job("timeout", "0.1", "sleep", "10"), Job("nice", "-n", "5", "nice"), Job("setsid", "-w", "echo", "session"), Job("nohup", "echo", "x"), Job("env", "-i", "A=1", "env"), Job("stdbuf", "-oL", "cat", "words"), Job("time", "-f", "%x", "true", name="time"), Job("script", "-qc", "tty >/dev/null; echo in", "/dev/null"), Job("flock", "words", "echo", "locked"), Job("getopt", "-o", "ab:", "--", "-b", "x", "-a"), Job("watch", "--version"), Job("ps", "-o", "comm=", "--pid", "1"), Job("kill", "-l"), Job("dbus-daemon", "--session", "--introspect"), Job("curl", "-s", "file:///etc/debian_version"), Job("wget", "-q", "-O", "-", "http://127.0.0.1:9/"), Job("ssh-keygen", "-l", "-f", "missing"), Job("rsync", "-a", "tree/", "mirror/"),
    # --- Tables, markup
    Job("datamash", "-t,", "--header-in", "sum", "2", "mean", "3", given=TABLE), Job("mlr", "--icsv", "--ojson", "sort", "-nr", "count", "table.csv"), Job("csvcut", "-c", "name,price", "table.csv"),
    Job("xmlstarlet", "sel", "-t", "-m", "//room", "-v", "@id", "-o", ":", "-v", "name", "-n", "rooms.xml"), Job("xsltproc", "style.xsl", "rooms.xml"), Job("cmark", given="# a\n* b\n* `c`\n"), Job("uconv", "-x", "any-upper", "utf8"),
    Job("html2text", "-nobs", given="<h1>a</h1><p>b <b>c</b>"), Job("parallel", "--will-cite", "-k", "-j2", "echo {} | rev", ":::", "abc", "def"),
    # --- Programs made and run
    Job("gfortran", "-o", "program", "program.f90"), Job("gnatmake", "-q", "green.adb"), Job("gdc", "-c", "program.d"), Job("fpc", "-v0", "program.pas"), Job("ocamlc", "-o", "program", "program.ml"), Job("ocaml", "program.ml"),
    Job("rustc", "-C", "codegen-units=1", "program.rs"), Job("gofmt", "program.go"), Job("nasm", "-f", "elf64", "code.asm"), Job("yasm", "-f", "elf64", "code.asm"), Job("clang-14", "-S", "-emit-llvm", "-O2", "plain.c"), Job("opt-14", "-S", "-O2", "program.ll"), Job("llc-14", "-o", "-", "program.ll"),
    Job("aarch64-linux-gnu-gcc", "-O2", "-S", "plain.c"), Job("avr-gcc", "-c", "plain.c"), Job("arm-none-eabi-gcc", "-c", "plain.c"), Job("sdcc", "-mz80", "-S", "plain.c"), Job("x86_64-w64-mingw32-gcc", "-c", "plain.c"), Job("bison", "-o", "parser.c", "grammar.y"), Job("flex", "-o", "lexer.c", "lexer.l"),
    Job("cmake", "-P", "program.cmake"), Job("scons", "-Q", ignore=[".sconsign"]), Job("cppcheck", "-q", "--enable=all", "--suppress=missingIncludeSystem", "code.c"), Job("astyle", given=CODE), Job("gcov", "--version"), Job("ltrace", "-c", "-o", "/dev/null", "true", name="ltrace"),
    Job("luajit", "program.lua", "x"), Job("node", "program.js", given="b\na\n"), Job("php", "program.php"), Job("guile", "--no-auto-compile", "program.scm"), Job("gsi", "program.scm"), Job("sbcl", "--noinform", "--non-interactive", "--no-userinit", "--eval", "(print (expt 2 70))"), Job("clisp", "-q", "-norc", "-x", "(expt 2 70)"),
    Job("racket", "-e", "(displayln (expt 2 70))"), Job("erl", "-noshell", "-eval", 'io:format("~p~n", [lists:sum([1, 2])]), halt(3).'), Job("swipl", "-g", "X is 2 ** 70, writeln(X)", "-t", "halt"), Job("gforth", "-e", "6 7 * . cr bye"), Job("expect", "-c", "spawn -noecho cat; send a\r; expect a; puts seen; exit 3", name="expect"),
    Job("ghc", "-e", "sum [1 .. 100 :: Integer]"), Job("perl", "-MList::Util=sum,shuffle", "-MPOSIX", "-e", "print sum(1 .. 10), strftime('%F', gmtime 0), qq(\n); $SIG{USR1} = sub { print qq(got\n); exit 8 }; kill USR1 => $$; sleep 5", name="perl signal"),
    # --- Calculation, science
    Job("glpsol", "--lp", "plan.lp", "-w", "out"), Job("gp", "-q", "-f", given="factor(2^67-1)\n"), Job("maxima", "--very-quiet", given="factor(x^4-1);\n"), Job("octave-cli", "--no-gui", "--norc", "--eval", "disp(inv([1 2; 3 4])); exit(2)"), Job("Rscript", "--vanilla", "-e", "print(summary(read.csv('table.csv')$price)); quit(status = 3)"),
    Job("samtools", "faidx", "genome.fa", "two:2-5"), Job("bedtools", "intersect", "-a", "a.bed", "-b", "b.bed"), Job("ncgen", "-o", "out.nc", "data.cdl"), Job("cs2cs", "-f", "%.3f", "+proj=longlat", "+to", "+proj=utm", "+zone=32", given="9 48\n"), Job("gdal_translate", "-q", "-of", "GTiff", "picture.ppm", "out.tif"), Job("ogr2ogr", "-f", "GeoJSON", "out.json", "table.csv"),
    # --- Pictures, sounds, pages
    Job("cwebp", "-quiet", "picture.ppm", "-o", "out.webp"), Job("gm", "convert", "picture.ppm", "-flip", "out.gif"), Job("pamscale", "0.5", "picture.ppm"), Job("potrace", "-b", "svg", "-o", "out.svg", "bits.pbm"), Job("identify", "-format", "%w %h %k", "picture.ppm"), Job("flac", "-s", "-o", "out.flac", "sound.wav"),
    Job("oggenc", "-Q", "--serial", "7", "-o", "out.ogg", "sound.wav"), Job("lame", "--quiet", "sound.wav", "out.mp3"), Job("abc2midi", "tune.abc", "-o", "tune.mid"), Job("ffmpeg", "-v", "error", "-nostdin", "-i", "sound.wav", "-bitexact", "-ar", "4000", "out.wav"), Job("gs", "-q", "-dBATCH", "-dNOPAUSE", "-sDEVICE=pbmraw", "-r36", "-sOutputFile=out.pbm", "page.ps"),
    Job("pdftotext", "page.pdf", "-"), Job("pdftoppm", "-r", "36", "-mono", "page.pdf"), Job("qpdf", "--static-id", "--qdf", "page.pdf", "out.pdf"), Job("mutool", "draw", "-q", "-r", "36", "-o", "out.pgm", "page.pdf"),
    # --- Archives, versions, sums
    Job("brotli", "-k", "text"), Job("lzip", "-k", "text"), Job("pbzip2", "-k", "text"), Job("mksquashfs", "tree", "out.sqfs", "-quiet", "-no-progress", "-all-time", "0", "-mkfs-time", "0", "-processors", "1"), Job("rhash", "--sha1", "--md5", "text"), Job("ssdeep", "-s", "text"),
    Job("ci", "-q", "-u", "-wgreen", "-d2026-01-01 00:00:00Z", "-troom", "words"), Job("hg", "init", "made"),
    # --- Pipelines
    Job("sh", "-c", "tail -n +2 table.csv | sort -t, -k3n | cut -d, -f1 | paste -sd+ | tee out; exit 6"), Job("bash", "-c", "yes | head -n 1000 | wc -l; echo ${PIPESTATUS[@]}"),
    Job("sh", "-c", "pnmtopng picture.ppm | pngtopnm | cmp - picture.ppm && tar cf - tree | xz | xz -d | tar tf - | sort"), Job("bash", "-c", "coproc bc; echo '6*7' >&${COPROC[1]}; read -r n <&${COPROC[0]}; echo $n"),
    Job("sh", "-c", "mkfifo f; (sed s/a/b/ <f >out; echo done) & cat words >f; wait; cat out"), Job("bash", "-c", "sqlite3 -csv rooms.db 'select * from room' | awk -F, '{ s += $2 } END { print s }' | jq -c '{sum: .}'"),
    Job("sh", "-c", "git init -q -b main . && git -c user.name=g -c user.email=g@g add words && GIT_AUTHOR_DATE=@0+0000 GIT_COMMITTER_DATE=@0+0000 git -c user.name=g -c user.email=g@g commit -qm one && git log --format=%T%H", name="git commit", ignore=["index"]),
    Job("sh", "-c", "gcc -O1 code.c -o program && ./program a; echo $?; gcc -c plain.c && ar rcD lib.a plain.o && nm lib.a"),
    # --- On a terminal
    Job("sh", "-c", "[ -t 0 ] && [ -t 1 ] && stty size && read -r word && echo \"got $word\"", typed=[("24 80", "green\r")], name="sh on a terminal"), Job("sh", "-c", "echo ready; exec cat", typed=[("ready\r\n", "one\r"), ("one\r\none\r\n", "\x04")], name="cat on a terminal"),
    Job("sh", "-c", "echo ready; exec cat", typed=[("ready\r\n", "a\r"), ("a\r\na\r\n", "\x03")], name="cat, interrupted by ^C"), Job("bash", "--norc", "--noprofile", "-i", typed=[("$ ", "echo $((6*7))\r"), ("$ ", "false\r"), ("$ ", "exit\r")], name="bash on a terminal"),
    Job("bash", "--norc", "--noprofile", "-i", typed=[("$ ", "cat\r"), ("cat\r\n", "x\r"), ("x\r\nx\r\n", "\x1a"), ("$ ", "fg\r"), ("cat\r\n", "\x04"), ("$ ", "exit 5\r")], name="bash, its job stopped by ^Z"), Job("dash", "-i", typed=[("$ ", "stty -a | head -n 1\r"), ("$ ", "exit 3\r")], name="dash on a terminal"),
    Job("python3", "-q", typed=[(">>> ", "import os; os.isatty(0), os.get_terminal_size()\r"), (">>> ", "exit(4)\r")], name="python3 on a terminal", ignore=[".python_history"]), Job("sqlite3", "rooms.db", typed=[("sqlite> ", "select count(*) from room;\r"), ("sqlite> ", ".quit\r")], name="sqlite3 on a terminal"),
    Job("gdb", "-nx", "-q", typed=[("(gdb) ", "print 6*7\r"), ("(gdb) ", "quit\r")], name="gdb on a terminal"), Job("tclsh", typed=[("% ", "expr 6*7\r"), ("% ", "exit 2\r")], name="tclsh on a terminal"), Job("lua5.4", typed=[("> ", "6*7\r"), ("> ", "\x04")], name="lua5.4 on a terminal"),
    Job("ed", "-p", ":", "words", typed=[(":", "1p\r"), (":", "q\r")], name="ed on a terminal"), Job("more", "text", typed=[("--More--", "q")], name="more on a terminal"), Job("bc", typed=[("`warranty'.", "6*7\r"), ("42\r\n", "quit\r")], name="bc on a terminal"), Job("rm", "-i", "words", typed=[("? ", "y\r")], name="rm -i on a terminal"),
    Job("python3", "-c", "import getpass; print(len(getpass.getpass()))", typed=[("Password: ", "room\r")], name="a password on a terminal"), Job("vi", "-u", "NONE", "-i", "NONE", "words", typed=[("words", "ddp:x\r")], name="vi on a terminal"),
]
