"""Tools whose profile (config/profiles) vouches for modules that an inspection must refuse: recorded, inspected with the
profile and prewarmed with what it allows, first by the hook alone, then by a daemon. Beside what the other suites compare,
the files that a run leaves.

DETAILS=1 also prints how the times to the first byte of the first case compare.
"""
import os
import pwd
import shutil
import statistics
import subprocess

import cases_python
import cases_ruby
import comparing
import control
import greenroomd
import instance
import learning
import results
from comparing import ENVIRONMENT

PROFILES = os.path.dirname(os.path.abspath(__file__)) + "/../../../config/profiles"
PYTHON = "/usr/bin/python3"
PLAYBOOK = """- hosts: localhost
  gather_facts: no
  tasks:
  - debug: msg="{{ lookup('env', 'FOO') }} {{ 3 | pow(2) }}"
  - copy: content="{{ 'x' * 3 }}" dest={{ playbook_dir }}/made mode=0640
  - command: cat {{ playbook_dir }}/made
"""
# Texts that differ in each run.
HIDES = [(rb"ansible-local-\d+\w*|ansible-tmp-[\d.]+-\d+-\d+", b"LOCAL"), (rb"LOCAL/tmp\w+", b"LOCAL/FILE"),
         (rb'("|\')?(start|end|delta)("|\')?: "[^"]*"', b"TIME"),
         (rb"\d+\.\d+ ?s\b", b"N s"), (rb"(Time to|Total time|Last updated)[^\n]*", b"TIME"), (rb"/tmp/pip-[\w-]+", b"/tmp/pip")]


# The recorded list, and the file that Ansible writes when it is inspected with ANSIBLE_LOG_PATH=log.txt.
OF_THE_INSPECTION = {"recorded", "log.txt"}
# `tree` gives this name to files that a process makes for itself and removes at its end.
OF_ONE_PROCESS = "one of its own"


class Case:
    """`files` and `home` are files beside the program and in the home directory. `anew`: the reason for a start anew."""

    def __init__(self, words, files=(), variables=(), program=None, mask=0o022, on_terminal=False, anew=0, home=(), given=b""):
        self.words, self.files, self.variables, self.program = words, dict(files), dict(variables), program
        self.mask, self.on_terminal, self.anew, self.home, self.given = mask, on_terminal, anew, dict(home), given


CONFIGURED = {"ansible.cfg": "[defaults]\nnocows = 1\nstdout_callback = minimal\n"}
BUILD = {"meson.build": "project('a', version : '1.2')\nmessage('hello')\nconfigure_file(output : 'made', configuration : {'a' : 1})\n"}
COMPILED = {"meson.build": "project('a', 'c')\nexecutable('hello', 'hello.c')\n"}
ASKING = "project('a')\nmessage(run_command('sh', '-c', 'echo $FOO', check: true).stdout(), find_program('sh').full_path())\n"
COLLECTION = ".ansible/collections/ansible_collections/a/b/plugins/"
MODULE = "from ansible.module_utils.basic import AnsibleModule\nAnsibleModule(argument_spec={}).exit_json(msg='hi')\n"
FILTER = "class FilterModule:\n    def filters(self): return {'loud': lambda text: text + '!'}\n"
USER_PACKAGE = ".local/lib/python3.11/site-packages/mine-1.0.dist-info/METADATA"
EXTRACTOR = """from yt_dlp.extractor.common import InfoExtractor
class OwnIE(InfoExtractor):
    _VALID_URL = r'own:(?P<id>.+)'
    def _real_extract(self, url): self.raise_no_formats('own ' + url, expected=True)
"""
DOCUMENT = """= Title
A Writer
:reproducible:

Some *text* of {author}, {where}, in `code`; stem:[x^2].

== Section

[source,ruby]
----
puts 1 # <1>
----
<1> Prints.

|===
|a |b
|===

include::part.adoc[]
"""
MANUAL = "= own(1)\nA Writer\n:reproducible:\n\n== Name\n\nown - does *that*\n\n== Synopsis\n\n*own* [_WORD_]\n"
BROKEN = "= Title\n:reproducible:\n\n==== Too deep\n\n<<nowhere>> {missing}\n\n|===\n|a\n"
EXTENSION = """require 'asciidoctor/extensions'
Asciidoctor::Extensions.register do
  block_macro(:shout) { process { |parent, target, _| create_paragraph parent, target.upcase, {} } }
  preprocessor { process { |document, _| document.set_attribute 'where', Dir.pwd } }
end
"""
SETTINGS = """SECRET_KEY = 'x'
INSTALLED_APPS = ['django.contrib.' + name for name in 'admin auth contenttypes sessions messages staticfiles'.split()]
MIDDLEWARE = ['django.contrib.sessions.middleware.SessionMiddleware', 'django.contrib.auth.middleware.AuthenticationMiddleware',
              'django.contrib.messages.middleware.MessageMiddleware']
ROOT_URLCONF = 'site1.urls'
TEMPLATES = [{'BACKEND': 'django.template.backends.django.DjangoTemplates', 'APP_DIRS': True, 'OPTIONS': {'context_processors': [
    'django.template.context_processors.request', 'django.contrib.auth.context_processors.auth',
    'django.contrib.messages.context_processors.messages']}}]
DATABASES = {'default': {'ENGINE': 'django.db.backends.sqlite3', 'NAME': 'db.dat'}}
DEFAULT_AUTO_FIELD, STATIC_URL, STATIC_ROOT, USE_TZ = 'django.db.models.AutoField', '/static/', 'made', True
"""
SITE = {"site1/__init__.py": "", "site1/settings.py": SETTINGS,
        "site1/urls.py": "from django.contrib import admin\nfrom django.urls import path\nurlpatterns = [path('', admin.site.urls)]\n"}
# A site of another user's of the same program, with a model, a check that finds something, and a command.
PLAIN = {"plain/__init__.py": "", "plain/settings.py": "SECRET_KEY, INSTALLED_APPS, USE_I18N = 'x', ['plain'], False\n",
         "plain/models.py": "from django.core.checks import Warning, register\nfrom django.db import models\n"
                            "class Thing(models.Model): name = models.CharField()\n"
                            "@register\ndef look(**options): return [Warning('look')]\n",
         "plain/management/commands/count.py": "from django.core.management.base import BaseCommand\n"
                                               "from django.utils.autoreload import autoreload_started as started\n"
                                               "class Command(BaseCommand):\n"
                                               "    def handle(self, **options): print(len(started.receivers))\n"}
OF_SITE, OF_PLAIN = ["--pythonpath", ".", "--settings", "site1.settings"], ["--pythonpath", ".", "--settings", "plain.settings"]
# Nobody listens there, and nobody is asked a second time.
NOWHERE = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_MAX_ATTEMPTS": "1", "AWS_EC2_METADATA_DISABLED": "true"}
DEBUG = ["localhost", "-m", "debug", "-a", "msg=hello"]
TOOLS = {
    "ansible": [
        Case(["--version"]), Case(DEBUG), Case(DEBUG, on_terminal=True), Case([], on_terminal=True),
        Case(["--no-such"]), Case(["nowhere", "-m", "ping"]), Case(DEBUG, {"ansible.cfg": CONFIGURED["ansible.cfg"]}, anew=instance.FAILED),
        Case(DEBUG, variables={"ANSIBLE_STDOUT_CALLBACK": "minimal"}), Case(DEBUG, variables={"ANSIBLE_FORCE_COLOR": "1"}),
        Case(DEBUG, variables={"ANSIBLE_NOCOLOR": "1"}, on_terminal=True),
        Case(DEBUG, variables={"ANSIBLE_ROLES_PATH": "roles"}, anew=instance.FAILED),
        Case(DEBUG, variables={"ANSIBLE_CONFIG": "own.cfg"}, files={"own.cfg": CONFIGURED["ansible.cfg"]}, anew=instance.FAILED),
        Case(DEBUG, home={".ansible.cfg": CONFIGURED["ansible.cfg"]}),
        # Settings that depend on the directory of the launch, which no instance knows.
        Case(DEBUG, home={".ansible.cfg": "[defaults]\nroles_path = {{CWD}}/roles\n"}),
        Case(["play.yml"], {"play.yml": PLAYBOOK}, program="ansible-playbook", mask=0o077),
        Case(["--diff", "play.yml"], {"play.yml": PLAYBOOK}, program="ansible-playbook", on_terminal=True),
        Case(["--list"], program="ansible-inventory"), Case(["dump", "--only-changed"], program="ansible-config"),
        Case(["view", "--vault-password-file", "key", "secret"], {"secret": "plain", "key": "x"}, program="ansible-vault"),
        Case(["--version"], variables={"LC_ALL": "C"}), Case(["--help"]), Case(["--help"], variables={"COLUMNS": "60"}, on_terminal=True),
        Case(["-i", "/dev/stdin", "all", "--list-hosts"], given=b"one\ntwo\n"),
        Case(DEBUG, variables={"TERM": "dumb", "NO_COLOR": "1"}, on_terminal=True), Case(DEBUG, variables={"HOME": "/tmp"}),
        Case(DEBUG, variables={"PATH": "/bin:/usr/bin"}), Case(DEBUG, variables={"ANSIBLE_LOG_PATH": "log.txt"}, anew=instance.FAILED),
        Case(["localhost", "-m", "a.b.hi"], home={COLLECTION + "modules/hi.py": MODULE}),
        Case(["localhost", "-m", "debug", "-a", "msg={{ 'x' | a.b.loud }}"], home={COLLECTION + "filter/loud.py": FILTER}),
        Case(["-M", "own", "localhost", "-m", "hi"], {"own/hi.py": MODULE}),
        Case(["play.yml"], {"play.yml": "- hosts: localhost\n  gather_facts: no\n  tasks:\n  - hi:\n", "library/hi.py": MODULE},
             program="ansible-playbook"),
        Case(["play.yml"], {"play.yml": "- hosts: localhost\n  tasks: x\n"}, program="ansible-playbook", on_terminal=True),
        Case(["--syntax-check", "nowhere.yml"], program="ansible-playbook"),
        Case(["list"], home={COLLECTION + "../MANIFEST.json": "{}"}, program="ansible-galaxy"),
        # A set decides the order of the folders.
        Case(["collection", "list"], home={COLLECTION + "../galaxy.yml": "namespace: a\nname: b\nversion: 1.0.0\nreadme: x\nauthors: [c]\n"},
             variables={"PYTHONHASHSEED": "0"}, program="ansible-galaxy"),
        Case(["role", "init", "made"], program="ansible-galaxy", mask=0o027), Case(["-s", "debug"], program="ansible-doc"),
    ],
    "asciidoctor": [
        Case(["--version"]), Case([]), Case([], on_terminal=True), Case(["--help"]), Case(["--help", "syntax"]), Case(["--no-such"]),
        Case(["--no-such"], on_terminal=True), Case(["nowhere.adoc"]), Case(["-o", "-", "a.adoc"], {"a.adoc": DOCUMENT}),
        Case(["-o", "-", "a.adoc"], {"a.adoc": DOCUMENT}, on_terminal=True), Case(["a.adoc"], {"a.adoc": DOCUMENT}, mask=0o077),
        Case(["-"], given=DOCUMENT.encode()), Case(["-s", "-"], given="*ünï* -- ...\n".encode()), Case(["-"], given=b"\xff\xfe"),
        Case(["-o", "-"], given=b"text\n"), Case(["-e", "-d", "inline", "-o", "-", "-"], given=b"*a* _b_"),
        Case(["-a", "where=here", "-a", "toc", "-a", "sectnums", "-o", "-", "a.adoc"], {"a.adoc": DOCUMENT, "part.adoc": "*part*\n"}),
        Case(["-S", "secure", "-o", "-", "a.adoc"], {"a.adoc": DOCUMENT, "part.adoc": "*part*\n"}),
        Case(["-B", "sub", "-o", "-", "sub/a.adoc"], {"sub/a.adoc": DOCUMENT, "sub/part.adoc": "*part*\n"}),
        Case(["-b", "manpage", "own.adoc"], {"own.adoc": MANUAL}, mask=0o027), Case(["-b", "manpage", "a.adoc"], {"a.adoc": DOCUMENT}),
        Case(["-b", "docbook5", "-o", "-", "a.adoc"], {"a.adoc": DOCUMENT}), Case(["-b", "nothing", "a.adoc"], {"a.adoc": DOCUMENT}),
        Case(["-D", "out/in", "a.adoc", "b.adoc"], {"a.adoc": DOCUMENT, "b.adoc": BROKEN}), Case(["-o", "x/y", "a.adoc"], {"a.adoc": DOCUMENT}),
        Case(["-R", "src", "-D", "out", "src/**/*.adoc"], {"src/a.adoc": DOCUMENT, "src/in/b.adoc": DOCUMENT}),
        Case(["-r", "./own.rb", "-o", "-", "a.adoc"], {"own.rb": EXTENSION, "a.adoc": DOCUMENT + "\nshout::text[]\n"}),
        Case(["-I", ".", "-r", "own", "-o", "-", "a.adoc"], {"own.rb": EXTENSION, "a.adoc": DOCUMENT}), Case(["-r", "nosuch", "a"]),
        Case(["-r", "nosuch", "--trace", "a.adoc"], {"a.adoc": DOCUMENT}),
        Case(["-T", "views", "-o", "-", "a.adoc"], {"a.adoc": DOCUMENT, "views/x.erb": "x"}),
        Case(["-v", "-o", "-", "a.adoc"], {"a.adoc": BROKEN}), Case(["-q", "-o", "-", "a.adoc"], {"a.adoc": BROKEN}),
        Case(["-w", "--failure-level", "WARN", "-o", "-", "a.adoc"], {"a.adoc": BROKEN}, on_terminal=True),
        Case(["-t", "a.adoc"], {"a.adoc": DOCUMENT}), Case(["-a", "source-highlighter=rouge", "-o", "-", "a.adoc"], {"a.adoc": DOCUMENT}),
        Case(["-n", "-E", "slim", "a.adoc"], {"a.adoc": DOCUMENT}), Case(["_2.0.18_", "--version"], anew=instance.HIDDEN), Case(["-V"]),
        Case(["_1.0_", "--version"], anew=instance.HIDDEN), Case(["/dev/stdin"], given=DOCUMENT.encode()),
        Case(["-o", "-", "a.adoc"], {"a.adoc": DOCUMENT}, variables={"LC_ALL": "C"}), Case(["-v"], variables={"RUBYOPT": "-w"}),
        Case(["-o", "-", "a.adoc"], {"a.adoc": DOCUMENT}, variables={"HOME": "/tmp", "TZ": "Asia/Tokyo"}),
        Case(["-o", "-", "a.adoc"], {"a.adoc": "{localdatetime} {docdatetime}\n"}, variables={"SOURCE_DATE_EPOCH": "0"}),
        Case(["-o", "-", "a.adoc"], {"a.adoc": "{user-home}\n"}, variables={"PATH": "/bin:/usr/bin", "TERM": "dumb"}, on_terminal=True),
        Case(["--version"], variables={"RUBYGEMS_GEMDEPS": "-"}, anew=instance.HIDDEN),
    ],
    "aws": [
        Case(["--version"]), Case([]), Case([], on_terminal=True), Case(["--no-such"]), Case(["s3", "nothing"]),
        Case(["configure", "list"]), Case(["configure", "set", "region", "eu-west-1"], mask=0o077),
        Case(["configure", "get", "region"], home={".aws/config": "[default]\nregion = eu-west-3\n"}),
        Case(["configure", "list"], variables={"AWS_DATA_PATH": "/data:/more", "AWS_PROFILE": "none"}),
        Case(["configure", "list"], variables={"AWS_REGION": "eu-west-2"}, on_terminal=True),
        Case(["s3", "ls", "--endpoint-url", "http://127.0.0.1:1", "--region", "eu-west-1"], variables=NOWHERE),
        Case(["who"], home={".aws/cli/alias": "[toplevel]\nwho = !echo $FOO; pwd\n"}),
        Case(["configure", "list-profiles"], home={".aws/config": "[profile a]\n", ".aws/credentials": "[b]\n"}),
        Case(["configure", "list"], variables={"AWS_CONFIG_FILE": "own"}, files={"own": "[default]\nregion = eu-north-1\n"}),
        Case(["configure"], home={".aws/config": "[default]\nregion = a\n"}, on_terminal=True, given=b"one\ntwo\nthree\njson\n"),
        Case(["s3", "cp", "-", "s3://a/b", "--endpoint-url", "http://127.0.0.1:1"], variables=NOWHERE, given=b"text"),
        Case(["s3", "ls"], home={".aws/config": "no ini"}), Case(["configure", "list"], variables={"HOME": "/tmp"}),
        Case(["--version"], home={".aws/config": "[plugins]\nx = nowhere\ncli_legacy_plugin_path = /tmp\n"}),
        # An import warns, so nothing after it is learned, and the profile does not act at the launch.
        Case(["s3", "ls"], variables={**NOWHERE, "HTTPS_PROXY": "http://127.0.0.1:1", "PYTHONWARNINGS": "error"}, anew=instance.FAILED),
        Case(["s3", "cp", "a", "b"], {"a": "text"}), Case(["ec2", "describe-instances", "--region"], on_terminal=True),
    ],
    "django-admin": [
        Case(["check", *OF_SITE], SITE), Case(["check", *OF_SITE], SITE, on_terminal=True), Case(["check", "--deploy", *OF_SITE], SITE),
        Case(["check", "--deploy", *OF_SITE], SITE, on_terminal=True), Case(["check", *OF_PLAIN], PLAIN), Case([]),
        Case(["check", *OF_PLAIN], PLAIN, on_terminal=True), Case([], on_terminal=True), Case(["--version"]), Case(["help"]),
        Case(["help", *OF_SITE], SITE, variables={"DJANGO_COLORS": "light"}, on_terminal=True),
        Case(["no-such"], on_terminal=True, anew=instance.FAILED),
        Case(["migrate", *OF_SITE], SITE, mask=0o077), Case(["showmigrations", *OF_SITE], SITE, on_terminal=True),
        Case(["sqlmigrate", "auth", "0001", *OF_SITE], SITE), Case(["makemigrations", "plain", *OF_PLAIN], PLAIN, mask=0o027),
        Case(["makemigrations", "--dry-run", "-v", "3", "plain", *OF_PLAIN], PLAIN, on_terminal=True), Case(["startapp", "made"], mask=0o027),
        Case(["diffsettings", *OF_SITE], SITE), Case(["diffsettings", *OF_PLAIN], PLAIN, variables={"LC_ALL": "C", "TZ": "Asia/Tokyo"}),
        Case(["loaddata", "--format", "json", "-", *OF_SITE], SITE, given=b"[]"), Case(["dumpdata", *OF_SITE], SITE),
        # Commands that may ask who listens. (A list is given up after three such launches in a row.)
        Case(["count", *OF_PLAIN], PLAIN, anew=instance.FAILED), Case(["runserver", "--help"], anew=instance.FAILED),
        Case(["createsuperuser", *OF_SITE], SITE, given=b"a\n"), Case(["collectstatic", "--dry-run", "--noinput", *OF_SITE], SITE),
        Case(["check", "--pythonpath", "."], SITE, variables={"DJANGO_SETTINGS_MODULE": "site1.settings"}),
        Case(["check", "--no-color", *OF_SITE], SITE, variables={"PYCHARM_HOSTED": "1"}),
        Case(["check", "--force-color", "--fail-level", "WARNING", *OF_PLAIN], PLAIN),
        Case(["check", *OF_SITE], SITE, variables={"HOME": "/tmp", "PATH": "/bin:/usr/bin", "TERM": "dumb"}, on_terminal=True),
        Case(["shell", "-c", "import sqlite3; print(len(sqlite3.converters))", *OF_SITE], SITE, anew=instance.FAILED),
    ],
    "meson": [
        Case(["--version"]), Case(["setup", "nowhere"]), Case(["setup", "build"], BUILD, mask=0o077),
        Case(["setup", "build"], BUILD, on_terminal=True), Case(["introspect", "--projectinfo", "meson.build"], BUILD),
        Case(["--no-such"]), Case(["--help"]), Case(["rewrite", "kwargs", "info", "project", "/"], BUILD),
        Case(["setup", "build"], BUILD, variables={"CC": "false"}, anew=instance.FAILED),
        Case(["setup", "build"], BUILD, variables={"PERL5LIB": "/nowhere"}, anew=instance.FAILED), Case([], on_terminal=True),
        Case(["setup", "build"], BUILD, variables={"DEB_HOST_MULTIARCH": "a"}),
        Case(["init", "--language", "c"], mask=0o027), Case(["setup", "-Doption=1", "build"], BUILD),
        Case(["setup", "build"], {**COMPILED, "hello.c": "int main(void) { return 0; }\n"}), Case(["help", "setup"]),
        Case(["setup", "build"], {"meson.build": "project('a')\nerror('no')\n"}, on_terminal=True),
        Case(["setup", "build"], {"meson.build": "project('a'\n"}), Case(["setup", "build"], {"meson.build": ASKING}, variables={"FOO": "x"}),
        Case(["setup", "build"], BUILD, variables={"PATH": "/bin:/usr/bin"}), Case(["setup", "build"], BUILD, variables={"HOME": "/tmp"}),
        Case(["setup", "--native-file", "own", "build"], {**BUILD, "own": "[built-in options]\nwarning_level = '3'\n"}),
        Case(["setup", "build"], BUILD, home={".local/share/meson/native/x": "", ".dpkg.cfg": "# no option\n"}),
        Case(["setup", "build"], BUILD, variables={"LC_ALL": "C"}), Case(["setup", "build"], BUILD, variables={"TERM": "dumb"}, on_terminal=True),
    ],
    "pip": [
        Case(["--version"], program="pip3"), Case(["list"], program="pip3"), Case(["list", "--format", "json"], program="pip3"),
        Case(["list"], program="pip3", on_terminal=True), Case(["show", "pip"], program="pip3"),
        Case(["show", "nothing-such"], program="pip3"), Case(["install", "--help"], program="pip3"),
        Case(["hash", "a"], {"a": "text"}, program="pip3"), Case(["--no-such"], program="pip3", on_terminal=True),
        Case(["freeze"], program="pip3", variables={"PIP_FORMAT": "x"}), Case(["check"], program="pip3"),
        Case(["config", "set", "global.timeout", "7"], program="pip3", mask=0o077),
        Case(["config", "list"], program="pip3", home={".config/pip/pip.conf": "[global]\ntimeout = 3\n"}),
        Case(["install", "--no-index", "nothing-such"], program="pip3", on_terminal=True),
        Case(["install", "-e", "git+file:///nowhere#egg=a", "--no-index", "--break-system-packages"], program="pip3"),
        Case(["list", "--user"], program="pip3", home={USER_PACKAGE: "Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n"}),
        Case(["show", "-f", "mine"], program="pip3", home={USER_PACKAGE: "Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n"}),
        Case(["list", "--path", "."], {"own-2.dist-info/METADATA": "Metadata-Version: 2.1\nName: own\nVersion: 2\n"}, program="pip3"),
        Case(["install", "-r", "nowhere.txt"], program="pip3"),
        Case(["install", "-r", "/dev/stdin", "--no-index"], program="pip3", given=b"nothing-such\n"),
        Case(["cache", "dir"], program="pip3", variables={"HOME": "/tmp"}), Case(["completion", "--bash"], program="pip3"),
        Case(["--version"], program="pip3", variables={"PATH": "/bin:/usr/bin"}), Case([], program="pip3", on_terminal=True),
        Case(["install", "nothing-such", "--index-url", "http://127.0.0.1:1/simple", "--retries", "0"], program="pip3"),
        Case(["help", "install"], program="pip3", variables={"COLUMNS": "60"}, on_terminal=True),
        Case(["list"], program="pip3", variables={"PIP_CONFIG_FILE": "own"}, files={"own": "[list]\nformat = json\n"}),
        Case(["uninstall", "nothing-such"], program="pip3", variables={"LC_ALL": "C"}, on_terminal=True),
    ],
    "yt-dlp": [
        Case(["--version"]), Case(["--help"]), Case(["--help"], on_terminal=True), Case([]), Case(["--no-such"]),
        Case(["--simulate", "nothing://x"]), Case(["--simulate", "nothing://x"], on_terminal=True),
        Case(["--list-extractors"]), Case(["--load-info-json", "a.json", "--skip-download", "--write-info-json"], {"a.json": "{}"}),
        Case(["--print", "title", "nothing://x"]), Case(["--verbose", "nothing://x"], variables={"NO_COLOR": "1"}),
        Case(["--version"], home={".config/yt-dlp/config": "--no-such\n"}),
        Case(["--list-extractors"], home={".config/yt-dlp/plugins/p/yt_dlp_plugins/extractor/own.py": EXTRACTOR}),
        Case(["own:x"], home={".config/yt-dlp/plugins/p/yt_dlp_plugins/extractor/own.py": EXTRACTOR}),
        Case(["--list-extractors"], {"yt-dlp-plugins/p/yt_dlp_plugins/extractor/own.py": EXTRACTOR}),
        Case(["--batch-file", "-"], given=b"# none\nnothing://x\n"), Case(["-s", "http://127.0.0.1:1/x"], on_terminal=True),
        Case(["--cookies", "made", "nothing://x"], mask=0o077), Case(["--verbose", "nothing://x"], variables={"PATH": "/bin:/usr/bin"}),
        Case(["--print", "x", "nothing://x"], variables={"HOME": "/tmp", "XDG_CONFIG_HOME": "/nowhere"}),
        Case(["-q", "--config-location", "own"], {"own": "--version\n"}),
        Case(["--version"], {"yt-dlp.conf": "--no-such\n"}), Case(["--help"], variables={"COLUMNS": "60", "LC_ALL": "C"}, on_terminal=True),
    ],
}


def read(name):
    """Returns the values of the profile's keys."""
    keys = {"Version": [], "Vouch": [], "Answer": [], "AtPause": [], "AtLaunch": [], "Require": []}
    with open(f"{PROFILES}/{name}.conf") as file:
        text = file.read().replace("\\\n", " ")
    for line in text.splitlines():
        key, equals, value = line.partition("=")
        if key in keys:
            keys[key].append(value)
    return keys


def lines_for_inspection(keys):
    return ["@" + keys["Version"][0], *("+" + " ".join(value.split()[:2]) for value in keys["Vouch"]),
            *("?" + value for value in keys["Answer"]), *("<" + value for value in keys["AtPause"]),
            *(">" + value.split()[0] for value in keys["AtLaunch"]), *required(keys)]


def lines_for_hook(keys):
    lines = [sign + value.replace(" ", "\t", 1) for sign, key in (("<", "AtPause"), (">", "AtLaunch")) for value in keys[key]]
    return lines + required(keys)


def required(keys):
    return ["^" + name for value in keys["Require"] for name in value.split()]


def empty(folder, kept):
    """Makes the folder, or removes what it has except for one name."""
    os.makedirs(folder, exist_ok=True)
    for entry in list(os.scandir(folder)):
        if entry.name != kept:
            shutil.rmtree(entry.path) if entry.is_dir(follow_symlinks=False) else os.remove(entry.path)


def tree(folder):
    """Returns the paths in a folder with their modes and contents."""
    found = {}
    for place, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(place, name)
            content = None
            if os.path.isfile(path) and not path.endswith((".pickle", ".pyc", ".dat", "log.txt", ".ninja")):
                with open(path, "rb") as file:
                    content = file.read()
            if "ansible-local" in path or "__pycache__" in path:
                path = folder + "/" + OF_ONE_PROCESS
            found[os.path.relpath(path, folder)] = (os.lstat(path).st_mode if os.path.lexists(path) else 0, content)
    return found


class Tool:
    def __init__(self, name):
        self.name, self.keys = name, read(name)
        self.is_of_ruby = bool(self.keys["Require"])
        self.language = cases_ruby.language() if self.is_of_ruby else cases_python.language(PYTHON, "profile-" + name)
        self.place, self.home = self.language.folder + "/place", self.language.folder + "/home"
        self.recorded, self.lists, self.variables = {}, {}, {}
        self.is_shared = False  # whether a daemon may inspect or prewarm it at any time

    def begin(self, case):
        """Makes a home and a directory with the case's files. The home belongs to somebody who has used the tool."""
        for folder, files in ((self.place, case.files), (self.home, case.home)):
            empty(folder, ".ansible" if self.is_shared else None)
            for path, text in files.items():
                os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
                with open(os.path.join(folder, path), "w") as file:
                    file.write(text)
        if self.name == "ansible":
            os.makedirs(self.home + "/.ansible/tmp", 0o700, exist_ok=True)

    def environment(self, case):
        user = pwd.getpwuid(os.getuid()).pw_name
        return {**ENVIRONMENT, "HOME": self.home, "PATH": "/usr/bin:/bin", "TERM": "xterm", "USER": user, "LOGNAME": user,
                **self.variables, **case.variables}

    def learn(self, path, case):
        """Returns the lines for the hook, as the daemon learns them: inspected in the environment of the prewarm."""
        recorded, environment = self.language.folder + "/recorded", self.environment(case)
        if path not in self.recorded:
            first = TOOLS[self.name][0]
            words = first.words if path.endswith("/" + (first.program or self.name)) else ["--version"]
            self.begin(first)
            learning.record(self.language, [path, *words], environment, self.place, recorded)
            with open(recorded) as file:
                self.recorded[path] = file.read()
        key = (path, *case.variables.items(), *case.home.items())
        # A file that is written again differs from the one that was inspected.
        if key not in self.lists or case.home:
            self.begin(case)
            self.lists[key] = self.inspect(path, environment, self.keys)
        return self.lists[key]

    def inspect(self, path, environment, keys):
        recorded = self.language.folder + "/recorded"
        with open(recorded, "w") as file:
            file.write(self.recorded[path] + "\n".join(lines_for_inspection(keys)) + "\n")
        if self.is_of_ruby:
            found = learning.trace([cases_ruby.RUBY, instance.RUNTIMES + "/ruby/inspect.rb"], recorded, environment)
            if found.does or not any(one[0] == "vouched" for one in found.versions):
                raise instance.Refused(f"the profile was not used: {found.does} {found.versions}")
            return learning.lines_for_hook(found) + lines_for_hook(keys)
        findings = learning.inspect(PYTHON, recorded, environment, path)
        if not any(one[0] == "vouched" for one in findings):
            raise instance.Refused(f"the profile was not used: {[one for one in findings if one[0] == 'unknown']}")
        return ["\t".join(one[1:]) for one in findings if one[0] == "import"] + lines_for_hook(keys)

    def run(self, case, words, paused=None):
        environment = self.environment(case)
        if case.on_terminal:
            if paused:
                return instance.talk_prewarmed(paused, words, environment, self.place, [], case.given)
            return instance.talk_directly(words, environment, self.place, [], case.given)
        if paused:
            return instance.run_prewarmed(paused, words, environment, self.place, case.given, case.mask)
        return instance.run_directly(words, environment, self.place, case.given, case.mask)

    def title(self, case):
        variables = "".join(f"{name}={value} " for name, value in case.variables.items())
        title = f"profile: {variables}{case.program or self.name} {' '.join(case.words)}"
        title += ", with " + " ".join({**case.files, **case.home}) if case.files or case.home else ""
        return title + (", terminal" if case.on_terminal else "")

    def expect(self, case, words):
        """Returns what a direct run does, and the files that it leaves. Restores everything afterwards."""
        self.begin(case)
        expected = self.run(case, words)
        left = tree(self.language.folder)
        self.begin(case)
        return expected, left

    def differences(self, expected, found):
        (outcome, left), now = expected, tree(self.language.folder)
        text = comparing.differences(outcome, found, [*comparing.ALWAYS, *HIDES])
        for one in sorted({*left, *now} - OF_THE_INSPECTION - ({OF_ONE_PROCESS} if self.is_shared else set())):
            if left.get(one) != now.get(one):
                text += f"{one}: {left.get(one)}, prewarmed {now.get(one)}\n"
        return text

    def same(self, case):
        path, title = "/usr/bin/" + (case.program or self.name), self.title(case)
        if not comparing.is_wanted(title):
            return
        words = [self.language.interpreter, path, *case.words]
        try:
            expected = self.expect(case, words)
            lines = self.learn(path, case)
            paused = self.language.pause(imports=lines, environment=self.environment(case))
            try:
                found = self.run(case, words, paused)
            finally:
                paused.end()
        except instance.Refused as refusal:
            results.report(title, False, str(refusal))
            return
        text = self.differences(expected, found)
        if paused.anew != case.anew:
            text += f"started anew for reason {paused.anew}, not {case.anew}\n"
        results.report(title, not text, text)

    def unknown_version(self):
        """A profile has no effect if it does not know the version."""
        self.begin(Case([]))
        try:
            self.inspect(next(iter(self.recorded)), self.environment(Case([])), dict(self.keys, Version=[
                self.keys["Version"][0].split()[0] + " 0.0"]))
            found = "it was used"
        except instance.Refused as refusal:
            found = str(refusal)
        results.report(f"profile: {self.name}: not used for another version", "'unknown'" in found, found)

    def measure(self):
        case = TOOLS[self.name][0]
        path = "/usr/bin/" + (case.program or self.name)
        words, times = [self.language.interpreter, path, *case.words], ([], [])
        self.begin(case)
        lines = self.learn(path, case)
        for _ in range(11):
            times[0].append(self.run(case, words).first)
            paused = self.language.pause(imports=lines, environment=self.environment(case))
            times[1].append(self.run(case, words, paused).first)
            paused.end()
        direct, prewarmed = (statistics.median(each) / 1e6 for each in times)
        print(f"# {self.name}: {prewarmed:.1f} ms, directly {direct:.1f}: {prewarmed / direct:.3f}")


class Daemon(greenroomd.Daemon):
    """A daemon with the shipped profiles. Its apps are the programs, in the environment in which they are called."""

    def __init__(self, environment, programs):
        super().__init__(environment=environment)
        variables = " ".join(f"{name}={value}" for name, value in environment.items())
        for program in programs:
            self.install("tool." + program, f"[App]\nExec=/usr/bin/{program}\nInstances=multiple\nEnvironment={variables}\n"
                                            "[Prewarm]\nWhen=demand\n")

    def command(self):
        return [*super().command(), "--profiles", PROFILES]

    def words(self, program, words):
        return [str(self.product / "greenroomctl"), "run", "tool." + program, "--socket", str(self.socket), "--", *words]

    def notes(self, program):
        """Returns the reasons of `explain`, by their code."""
        return {one["code"]: one["text"] for one in self.call("Explain", {"app": "tool." + program})["reasons"]}

    def kind(self, program):
        """Returns how the app's last launch was served; if cold, with the reason."""
        last = self.call("Explain", {"app": "tool." + program})["lastLaunch"]
        return f"cold: {last['coldReason']}" if "coldReason" in last else last["kind"]

    def await_list(self, program):
        """Waits for an instance with a list, which an earlier launch has taught."""
        def notes():
            found = self.notes(program)
            is_over = "imports_abandoned" in found or "imports_learned" in found and "imports_preparing" not in found
            return found if is_over else None

        return self.await_fact("a list of imports", notes, look_seconds=0.05)


class Served:
    """A tool whose programs a daemon prewarms."""

    def __init__(self, tool):
        self.tool = tool
        tool.is_shared = True
        programs = {case.program or tool.name for case in TOOLS[tool.name]}
        self.programs = {name for name in programs if os.path.exists("/usr/bin/" + name)}
        self.daemon = Daemon(tool.environment(Case([])), self.programs)
        self.learned = set()

    def learn(self, program):
        """Learns once, from launches of paused instances."""
        if program in self.learned:
            return
        self.learned.add(program)
        self.tool.begin(Case([]))
        first = next(case for case in TOOLS[self.tool.name] if (case.program or self.tool.name) == program)
        words = first.words if program == (TOOLS[self.tool.name][0].program or self.tool.name) else ["--version"]
        self.daemon.call("Prewarm", {"app": "tool." + program})
        self.tool.run(Case([]), self.daemon.words(program, words))
        if self.daemon.kind(program) != "prewarmed":
            raise greenroomd.Failed(f"the first launch of {program} was {self.daemon.kind(program)}")
        notes = self.daemon.await_list(program)
        text = notes.get("profile", str(notes))
        results.report(f"profile: {program}: used by the daemon", "vouches for some of them" in text, text)

    def same(self, case):
        program, title = case.program or self.tool.name, self.tool.title(case) + ", by the daemon"
        # The variables that the manifest names are the same in every launch.
        is_possible = not case.variables.keys() & self.tool.environment(Case([])).keys()
        if program not in self.programs or not is_possible or not comparing.is_wanted(title):
            return
        self.learn(program)
        # With other variables or files in the home directory, no instance may fit.
        is_plain = not case.variables and not case.home
        expected = self.tool.expect(case, ["/usr/bin/" + program, *case.words])
        self.settle(program, is_plain)  # the direct run may have changed a file that the instance watched
        found = self.tool.run(case, self.daemon.words(program, case.words))
        kind = self.daemon.kind(program)
        self.settle(program, is_plain)
        text = self.tool.differences(expected, found)
        if is_plain and kind != ("started_anew" if case.anew else "prewarmed"):
            text += f"launched {kind}\n"
        results.report(title, not text, text)

    def settle(self, program, with_list):
        """Waits for an instance."""
        self.daemon.call("Prewarm", {"app": "tool." + program})
        if with_list and "imports_learned" not in (notes := self.daemon.await_list(program)):
            raise greenroomd.Failed(f"{program} has lost its list: {notes}")


def by_daemon(tool):
    served = Served(tool)
    tool.begin(Case([]))
    try:
        served.daemon.start()
        # After a change of files that were read, the list is made again.
        for case in sorted(TOOLS[tool.name], key=lambda case: bool(case.home)):
            served.same(case)
    except (greenroomd.Failed, control.Refused) as failure:
        results.report(f"profile: {tool.name}, by the daemon", False, str(failure))
    finally:
        served.daemon.stop()
        tool.is_shared = False


def upgraded():
    """Installs another version of Meson, in a separate folder, while an instance waits."""
    tool, case, source = Tool("meson"), Case(["--version"]), "/usr/lib/python3/dist-packages"
    folder = tool.language.folder + "/dist-packages"
    for name in ("mesonbuild", "meson-1.0.1.egg-info"):
        shutil.copytree(f"{source}/{name}", f"{folder}/{name}")
    tool.variables = {"PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"}
    served, title = Served(tool), "profile: meson, upgraded while an instance waits"
    tool.begin(case)
    try:
        served.daemon.start()
        served.same(case)
        with open(folder + "/mesonbuild/coredata.py") as file:
            text = file.read()
        tool.language.write("dist-packages/mesonbuild/new", text.replace("version = '1.0.1'", "version = '1.0.2'"))
        os.rename(folder + "/mesonbuild/new", folder + "/mesonbuild/coredata.py")
        os.rename(folder + "/meson-1.0.1.egg-info", folder + "/meson-1.0.2.egg-info")
        expected = tool.expect(case, ["/usr/bin/meson", *case.words])
        found = tool.run(case, served.daemon.words("meson", case.words))
        text, kind = tool.differences(expected, found), served.daemon.kind("meson")
        results.report(title, not text and kind == "started_anew" and b"1.0.2" in found.output, f"{text}launched {kind}")
        notes = served.daemon.await_fact("another list", lambda: (notes := served.daemon.notes("meson")).get("profile_version") and notes,
                                         look_seconds=0.05)
        results.report("profile: meson: its profile does not know the new version", "1.0.2 is installed" in notes["profile_version"],
                       str(notes))
        served.same(Case(["setup", "build"], BUILD))
    except (greenroomd.Failed, control.Refused) as failure:
        results.report(title, False, str(failure))
    finally:
        served.daemon.stop()
    tool.language.end()


def run(*wanted):
    """`wanted`: tools (default: all)."""
    for name, cases in TOOLS.items():
        if name not in (wanted or TOOLS):
            continue
        path = "/usr/bin/" + (cases[0].program or name)
        if not os.path.exists(path):
            results.skip(f"profile: {name}", f"no {path}")
            continue
        if not is_known(name):
            results.skip(f"profile: {name}", "another version is installed than the profile knows")
            continue
        tool = Tool(name)
        for case in cases:
            if os.path.exists("/usr/bin/" + (case.program or name)):
                tool.same(case)
        by_daemon(tool)
        if comparing.is_wanted(f"profile: {name}: not used for another version") and tool.recorded:
            tool.unknown_version()
        if os.environ.get("DETAILS"):
            tool.measure()
        tool.language.end()
        if name == "meson":
            upgraded()


def is_known(name):
    keys = read(name)
    distribution, *versions = keys["Version"][0].split()
    words = [PYTHON, "-c", f"from importlib.metadata import version; print(version({distribution!r}))"]
    if keys["Require"]:
        words = [cases_ruby.RUBY, "-e", f"print Gem::Specification.find_by_name({distribution!r}).version"]
    return subprocess.run(words, capture_output=True, text=True).stdout.strip() in versions
