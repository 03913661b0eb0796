"""Emacs in batch: unmodified programs, the ways to name one, and every reason to start anew."""
import os
import shutil
import signal
import subprocess

import learning
import results
from cases_ruby import refuses
from cases_traces import stamp_of
from comparing import ENVIRONMENT, Language
from instance import CHANGED, FAILED, HIDDEN, OPTIONS, PROGRAM, RUNTIMES, Refused
from instance import ENVIRONMENT as VARIABLE

IMPORTS = ["cl-lib", "subr-x", "json", "seq", "org"]

# Each script prints everything that a program can observe about one subject.
SCRIPTS = {
    "arguments": """(princ (format "%S\\n" (list command-line-args command-line-args-left argv load-file-name noninteractive
                       invocation-name invocation-directory)))""",
    "command line": '(princ (with-temp-buffer (insert-file-contents-literally "/proc/self/cmdline") (buffer-string)))',
    "environment": """(princ (format "%S %S %S\\n" process-environment initial-environment (getenv "FOO")))
                      (princ (mapcar #'multibyte-string-p process-environment))
                      (setenv "NEW" "1") (setenv "Z") (princ (shell-command-to-string "env | grep -v ^_="))""",
    "directories": """(princ (list default-directory command-line-default-directory (getenv "PWD")
                        (expand-file-name "x")
                        (mapcar (lambda (b) (with-current-buffer b (list (buffer-name) default-directory))) (buffer-list))
                        temporary-file-directory user-emacs-directory exec-path (default-file-modes)))""",
    "names": """(princ (list user-login-name user-full-name (user-uid) shell-file-name locale-coding-system
                  current-language-environment file-name-coding-system default-process-coding-system))""",
    "features": '(princ (list features load-path (mapcar #\'car load-history) kill-emacs-hook after-load-functions))',
    "buffers": '(princ (list (buffer-list) (current-buffer) (buffer-string) major-mode (selected-window) (frame-list)))',
    "input": """(princ (read-from-minibuffer "first? ")) (terpri) (princ (read-string "second? "))
                (condition-case e (read-string "third? ") (end-of-file (princ e)))""",
    "output": '(message "to errors %s" 1) (princ "to output") (terpri) (print \'(a "b")) (send-string-to-terminal "raw\\n")',
    "exit status": '(add-hook \'kill-emacs-hook (lambda () (princ "bye\\n"))) (kill-emacs 3)',
    "exception": '(defun f (x) (car x)) (f 1)',
    "user error": '(user-error "no %s" "way")',
    "end of file": "(princ 1) (foo",
    "signal": '(signal \'wrong-type-argument \'(a b))',
    "backtrace": '(defun f () (backtrace)) (f)',
    "handled": '(condition-case e (/ 1 0) (arith-error (princ e)))',
    "processes": """(princ (call-process "sh" nil t nil "-c" "echo $FOO; pwd; umask; exit 4")) (princ (buffer-string))
                    (let ((p (start-process "x" (current-buffer) "echo" "later"))) (while (accept-process-output p)))
                    (princ (buffer-string))""",
    "termination": '(princ "x") (signal-process (emacs-pid) \'SIGTERM) (sleep-for 1)',
    "interrupt": '(princ "x") (signal-process (emacs-pid) \'SIGINT) (sleep-for 1)',
    "kill": '(message "x") (signal-process (emacs-pid) \'SIGKILL) (sleep-for 1)',
    "time": """(princ (list (format-time-string "%Z %z" 0) (current-time-zone) (< (float-time (time-since before-init-time)) 5)
                 (<= (float-time (time-since after-init-time)) (float-time (time-since before-init-time)))))""",
    "timers": '(run-at-time 0.05 nil (lambda () (princ "timer"))) (sleep-for 0.2)',
    "files": """(with-temp-file "made" (insert "äö")) (princ (with-temp-buffer (insert-file-contents "made") (buffer-string)))
                (princ (file-modes "made")) (delete-file "made") (princ (directory-files "." nil "el$"))""",
    "library": """(require 'json) (require 'seq) (princ (json-encode '((a . 1) (b . ["x" "ü"]))))
                  (princ (seq-filter #'zerop '(0 1 0)))""",
    "threads": '(thread-join (make-thread (lambda () (princ "in a thread")))) (princ (length (all-threads)))',
    "lexical": ';;; -*- lexical-binding: t -*-\n(let ((x 1)) (princ (funcall (lambda () x)))) (princ lexical-binding)',
    "symbols": '(princ (list (intern-soft "greenroom-functions") (apropos-internal "greenroom") (boundp \'greenroom)))',
    "random": '(random "seed") (princ (random 1000))',
    "descriptors": '(princ (shell-command-to-string "ls /proc/self/fd"))',
    "compile": '(princ (funcall (byte-compile (lambda (x) (* x 2))) 21))',
    "large output": '(princ (make-string 300000 ?x))',
    "nothing": "",
}


def language(emacs):
    def prepare(options, imports, environment):
        if imports:
            environment["GREENROOM_IMPORTS"] = "\n".join(imports)
        return [emacs, *options, "-Q", "-batch", "-l", RUNTIMES + "/emacs/greenroom.el", RUNTIMES + "/emacs/placeholder"], environment
    return Language("emacs", emacs, prepare)


def file_of(name):
    return name.replace(" ", "_") + ".el"


def scripts(emacs):
    for name, text in SCRIPTS.items():
        emacs.write(file_of(name), text + "\n")
    for name in SCRIPTS:
        words = ["-Q", "-batch", "-l", file_of(name), "a b", "ü"]
        emacs.same_on_both(name, words)
        if name not in ("features",):
            emacs.same(name + ", with imports", words, imports=IMPORTS)


def programs(emacs):
    """Tests each way to name a program."""
    name, folder = file_of("arguments"), emacs.folder
    emacs.write("sub/one.el", '(defun one () (princ "one") (princ command-line-args-left))\n')
    for title, words, more in (
            ("other order", ["-batch", "-Q", "-l", name], {}), ("long options", ["--quick", "--batch", "--load", name, "q"], {}),
            ("a script", ["-Q", "--script", name, "q"], {}), ("an absolute script", ["-Q", "--script", folder + "/" + name], {"directory": "sub"}),
            ("an expression", ["-Q", "-batch", "--eval", "(princ command-line-args-left)", "x"], {}),
            ("a function", ["-Q", "-batch", "-l", "sub/one.el", "-f", "one", "y"], {}),
            ("a library", ["-Q", "-batch", "-L", "sub", "-l", "one", "-f", "one"], {}),
            ("a visited file", ["-Q", "-batch", name, "--eval", "(princ (list (buffer-name) default-directory))"], {}),
            ("several", ["-Q", "-batch", "--eval", "(princ 1)", "--eval", "(princ 2)", "--kill"], {}),
            ("nothing", ["-Q", "-batch"], {}), ("a missing file", ["-Q", "-batch", "-l", "nosuch.el"], {}),
            ("a missing script", ["-Q", "--script", "nosuch.el"], {}), ("a missing function", ["-Q", "-batch", "-f", "nosuch"], {}),
            ("a wrong expression", ["-Q", "-batch", "--eval", "(foo"], {}),
            ("an unknown option", ["-Q", "-batch", "-l", name, "--unknown"], {"anew": PROGRAM}),
            ("another option", ["-Q", "-batch", "-l", name, "--debug-init"], {"anew": PROGRAM}),
            ("an option with a value", ["-Q", "-batch", "--load=" + name], {"anew": PROGRAM}),
            ("with the site's files", ["-batch", "-l", name], {"anew": PROGRAM}),
            ("the version", ["--version"], {"anew": PROGRAM}),
            ("another name", ["-Q", "-batch", "-l", name], {"direct": ["emacs", "-Q", "-batch", "-l", name], "anew": OPTIONS})):
        emacs.same(title, words, **more)


def variables(emacs):
    os.symlink("sub", emacs.folder + "/link")
    words = ["-Q", "-batch", "-l", "../" + file_of("directories")]
    for title, place in (("a right PWD", "/sub"), ("a PWD through a link", "/link"), ("a wrong PWD", "/nowhere")):
        emacs.same(title, words, environment=dict(ENVIRONMENT, PWD=emacs.folder + place), prewarm=ENVIRONMENT, directory="sub")
    time, environment = (["-Q", "-batch", "-l", file_of(name)] for name in ("time", "environment"))
    emacs.same("a time zone", time, environment=dict(ENVIRONMENT, TZ="Asia/Tokyo"), prewarm=ENVIRONMENT)
    emacs.same("a time zone that is gone", time, prewarm=dict(ENVIRONMENT, TZ="Asia/Tokyo"))
    emacs.same("the C locale", environment, environment=dict(ENVIRONMENT, LC_ALL="C"))
    for name in ("LC_ALL", "HOME", "SHELL", "PATH", "TMPDIR", "EMACSLOADPATH"):
        value = {"LC_ALL": "C", "PATH": ENVIRONMENT["PATH"] + ":/opt"}.get(name, "/tmp" + (":" if name == "EMACSLOADPATH" else ""))
        emacs.same("another " + name, environment, environment=dict(ENVIRONMENT, **{name: value}), prewarm=ENVIRONMENT, anew=VARIABLE)
    emacs.same("descriptor 0 closed", environment, anew=FAILED, change=lambda paused: paused.inherit(closed=[0]),
               direct=["/bin/sh", "-c", 'exec "$@" 0<&-', "sh", emacs.interpreter, *time], launch=[emacs.interpreter, *time])


def files(emacs):
    """A direct run must import the same files."""
    own = dict(ENVIRONMENT, EMACSLOADPATH=emacs.folder + "/library:")
    emacs.write("library/fresh.el", "(defvar fresh 1) (provide 'fresh)\n")
    words = ["-Q", "-batch", "--eval", "(progn (require 'fresh) (princ fresh))"]

    def settle():  # a file that changes while Emacs starts is not used
        subprocess.run([emacs.interpreter, "-Q", "-batch"], check=True)

    settle()
    emacs.same("an import of one's own", words, environment=own, imports=["fresh"])
    emacs.same("an import that was edited", words, environment=own, imports=["fresh"], anew=CHANGED,
               change=lambda paused: emacs.write("library/fresh.el", "(defvar fresh 11) (provide 'fresh)\n"))
    settle()
    emacs.same("a file that hides an import", words, environment=own, imports=["json"], anew=CHANGED,
               change=lambda paused: emacs.write("library/json.el", "(princ 'mine)\n"))
    refuses(emacs, "a missing import", ["nosuch"])


# Libraries that do one thing each when they are loaded, with what the trace says of it.
LIBRARIES = {
    "plain": ("(defun g-plain () 1)", None),
    "words": ("(defvar g-words (car command-line-args-left))", "arguments"),
    "argv": ("(defvar g-argv argv)", "arguments"),
    "line": ("(when (member \"--fast\" command-line-args) (defun g-line ()))", "arguments"),
    "directory": ("(defvar g-directory (expand-file-name \"x\"))", "directory"),
    "closure": ("(let ((here default-directory)) (defun g-closure () here))", "directory"),
    "asks-directory": ("(defvar g-asks-directory (file-directory-p \".\"))", "opens"),
    "beside": ("(defvar g-beside (expand-file-name \"x\" (file-name-directory load-file-name)))", None),
    "variable": ("(defvar g-variable (list (getenv \"G_ONE\") (getenv \"G_TWO\")))", None),
    "all": ("(defvar g-all (copy-sequence process-environment))", "variables"),
    "substitutes": ("(defvar g-substitutes (substitute-in-file-name \"$FOO/x\"))", "variables"),
    "sets": ("(setenv \"G_SET\" \"1\")", "environment"),
    "time": ("(defvar g-time (current-time))", "time"),
    "load": ("(defvar g-load (load-average))", "time"),
    "start": ("(defvar g-start before-init-time)", "time"),
    "opens": ("(with-temp-buffer (insert-file-contents \"/proc/self/status\"))", "opens"),
    "user-file": ("(defvar g-user-file (file-exists-p \"~/.g-nosuch\"))", None),
    "writes": ("(write-region \"\" nil \"/tmp/greenroom-g\" nil 0)", "writes"),
    "temporary": ("(make-temp-file (expand-file-name \"x\" (file-name-directory load-file-name)))", "writes"),
    "runs": ("(ignore-errors (call-process \"true\"))", "runs"),
    "thread": ("(thread-join (make-thread #'ignore))", "thread"),
    "connects": ("(ignore-errors (open-network-stream \"x\" nil \"127.0.0.1\" 1))", "network"),
    "prints": ("(message \"x\")", "prints"),
    "reads": ("(ignore-errors (read-from-minibuffer \"\"))", "terminal"),
    "fails": ("(error \"no\")", "fails"),
    "path": ("(push \"/nowhere\" load-path)", "state"),
    "hook": ("(add-hook 'kill-emacs-hook #'ignore)", None),
    "handlers": ("(push '(\"x\" . ignore) file-name-handler-alist)", "state"),
    "advice": ("(advice-add 'load :before #'ignore)", "state"),
    "buffer": ("(get-buffer-create \"g-buffer\")", "state"),
    "passing": ("(with-temp-buffer (insert \"x\"))", None),
    "inserts": ("(insert \"x\")", "time"),
    "timer": ("(run-with-idle-timer 1 nil #'ignore)", "state"),
    "mask": ("(defvar g-mask (default-file-modes))", "state"),
    "coding": ("(setq locale-coding-system 'latin-1)", "state"),
    "loads": ("(require 'g-words)", "arguments"),
    "tries": ("(ignore-errors (require 'g-line))", None),
    "handles": ("(defvar g-handles (ignore-errors (car command-line-args-left)))", "arguments"),
    "is_bound": ("(defvar g-is-bound (boundp 'command-line-args-left))", "arguments"),
    "frame": ("(defvar g-frame (backtrace-frame 5))", "caller"),
    "inner": ("(require 'g-plain)", None),
    "lazy": ("(defun g-lazy () (require 'g-words))", None),
    "after": ("(with-eval-after-load 'g-inner (princ \"after\"))", None),
    "elsewhere": ("(load \"g-provides\" nil t)", "state"),
}


def text_of(name, text):
    return f";;; -*- lexical-binding: t -*-\n{text}\n" + ("" if name == "elsewhere" else f"(provide 'g-{name})\n")


def traces(emacs, environment):
    """Tests what the trace of an inspection says of each library."""
    for name, (text, _) in LIBRARIES.items():
        emacs.write(f"features/g-{name}.el", text_of(name, text))
    emacs.write("features/g-provides.el", "(provide 'g-elsewhere)\n")
    reads = set()
    for name, (_, reason) in LIBRARIES.items():
        found = trace(emacs, [f"g-{name}"], environment)
        does = found.does.get(f"g-{name}")
        reads |= found.reads
        results.report(f"emacs: trace: {name}: {reason or 'nothing'}", does == reason, f"found {found.does}")
    results.report("emacs: trace: the variables that are read", {"G_ONE", "G_TWO"} <= reads, str(reads))
    found = trace(emacs, ["g-tries"], environment)
    line, tries = emacs.folder + "/features/g-line.el", emacs.folder + "/features/g-tries.el"
    results.report("emacs: trace: a library within another", ("g-tries", line) in found.needs and found.does.get(line) == "arguments", str(found))
    results.report("emacs: trace: a stamp of each", found.stamps.get("g-tries") == stamp_of(tries), str(found.stamps))
    found = trace(emacs, ["g-user-file"], environment)
    results.report("emacs: trace: a file of the user's that is missing", found.data.get("/root/.g-nosuch") == "0", str(found.data))


def trace(emacs, names, environment):
    path = emacs.write("names", "".join(name + "\n" for name in names))
    try:
        return learning.trace([emacs.interpreter, "-Q", "-batch", "-l", RUNTIMES + "/emacs/inspect.el"], path, environment)
    except Refused as refusal:
        results.report(f"emacs: trace: {names}", False, str(refusal))
        return learning.Trace({}, set(), {}, set(), {})


def list_of(emacs, names, environment):
    """The lines of a list that loads these features, as `ImportTrace` makes them, for libraries that do nothing of note."""
    found = trace(emacs, names, environment)
    results.report(f"emacs: {' '.join(names)}: may be loaded", not found.does, str(found.does))
    places = {os.path.dirname(path) for path in found.stamps}
    return ([f"{name}\t{stamp}" for name, stamp in found.stamps.items()]
            + [f"={path}\t{stamp}" for path, stamp in found.data.items() if path not in found.stamps and stamp != "-" and path not in places])


def recording(emacs, environment):
    """Tests what a launch reports to load first."""
    emacs.write("more.el", "(require 'g-lazy)\n(princ 2)\n")
    emacs.write("only.el", "(require 'g-plain)\n;; That is all.\n")
    emacs.write("g-here", "(require 'g-plain)\n")
    emacs.write("hidden.el.el", "")
    emacs.write("hidden.el", "(require 'g-plain)\n")
    os.mkfifo(emacs.folder + "/pipe.el")
    for name, text, words, expected in (
            ("the first forms", ";; x\n(require 'g-inner)\n\n(require 'g-plain nil t) ; x\n(princ 1)\n(require 'g-lazy)\n", None, ["g-inner", "g-plain"]),
            ("forms within others", "(eval-when-compile (require 'g-plain))\n(progn (require 'g-lazy) (princ 1) (require 'g-inner))\n", None,
             ["g-plain", "g-lazy"]),
            ("a first line for the system", "#!/usr/bin/emacs --script\n(require 'g-plain)\n", None, ["g-plain"]),
            ("what Emacs has loaded at its start", "(require 'simple)\n(require 'g-plain)\n", None, ["g-plain"]),
            ("a variable that is set first", "(setq x 1)\n(require 'g-plain)\n", None, []),
            ("another folder that is searched first", "(push \"/tmp\" load-path)\n(require 'g-plain)\n", None, []),
            ("a file that is named", "(require 'g-plain \"g-plain\")\n", None, []),
            ("a name that is computed", "(require (intern \"g-plain\"))\n", None, []),
            ("a condition", "(when t (require 'g-plain))\n", None, []),
            ("a wrong end", "(require 'g-plain)\n(princ 1", None, ["g-plain"]),
            ("an expression", "", ["--eval", "(require 'g-plain)", "--eval", "(progn (require 'g-lazy) (princ 1))"], ["g-plain", "g-lazy"]),
            ("more than an expression", "", ["--eval", "(require 'g-plain) 1"], []),
            ("several words", "", ["-l", "only.el", "--eval", "(require 'g-inner)", "-l", "more.el"], ["g-plain", "g-inner", "g-lazy"]),
            ("a folder for libraries first", "", ["-L", "features", "-l", "only.el"], []),
            ("a library by its name", "", ["-l", "g-lazy", "-l", "only.el"], ["-l:g-lazy", "g-plain"]),
            ("two libraries", "", ["--load", "g-lazy", "-load", "g-plain", "-f", "ignore"], ["-l:g-lazy", "-l:g-plain"]),
            ("a library that is named twice", "", ["-l", "g-lazy", "-l", "g-plain", "-l", "g-lazy", "-l", "g-inner"], ["-l:g-lazy", "-l:g-plain"]),
            ("a library that Emacs has loaded at its start", "", ["-l", "subr", "-l", "only.el"], ["-l:subr", "g-plain"]),
            ("a library after something else", "", ["-l", "only.el", "-l", "g-lazy"], ["g-plain"]),
            ("a library in a folder", "", ["-l", "features/g-lazy"], []),
            ("a feature with the name of a library", "(require '-l:g-plain)\n", None, []),
            ("a file with the name of a library", "", ["-l", "g-here"], ["g-plain"]),
            ("a function first", "", ["-f", "ignore", "-l", "only.el"], []),
            ("a visited file first", "", ["only.el", "-l", "only.el"], []),
            ("a file that another one hides", "", ["-l", "hidden.el"], [])):
        emacs.write("recorded.el", text)
        words = ["-Q", "-batch", *(words or ["-l", "recorded.el"])]
        names = learning.record(emacs, words, environment, emacs.folder, emacs.folder + "/record")
        results.report(f"emacs: recording: {name}", names == expected, str(names))
        if name == "a first line for the system":
            names = learning.record(emacs, ["-Q", "--script", "recorded.el"], environment, emacs.folder, emacs.folder + "/record")
            results.report("emacs: recording: a script", names == expected, str(names))
    emacs.same("recording changes nothing", ["-Q", "-batch", "-l", "only.el", "-l", "more.el"], environment=environment,
               prewarm=dict(environment, GREENROOM_RECORD=emacs.folder + "/nobody"))


# Programs that begin with a list of imports, and print everything that could show an early load.
LEARNED = {
    "what is loaded": ["org"], "the history of loads": ["json", "g-inner"], "another file of the first forms": ["ox-html"],
}
SEES = """(princ (format "%S" (list features (mapcar #'car load-history) load-file-name load-in-progress (buffer-list) kill-emacs-hook
            after-load-functions (length after-load-alist) (current-buffer) default-directory inhibit-startup-screen command-line-args-left
            file-name-handler-alist timer-list (assoc load-file-name load-history) current-load-list)))"""


def learned(emacs, environment):
    """Tests launches that begin with the learned list, and launches that do not."""
    def same(name, text, names, words=None, **more):
        emacs.write("learned.el", text)
        imports = list_of(emacs, names, more.get("environment", environment))
        emacs.same("learned: " + name, words or ["-Q", "-batch", "-l", "learned.el", "a"], imports=imports,
                   **{"environment": environment, **more})

    plain = "(require 'g-plain)\n"
    os.makedirs(emacs.folder + "/sub", exist_ok=True)
    for name, names in LEARNED.items():
        same(name, "".join(f"(require '{each})\n" for each in names) + SEES, names)
    same("a script", plain + SEES, ["g-plain"], ["-Q", "--script", "learned.el", "a"])
    same("an expression", plain, ["g-plain"], ["-Q", "-batch", "--eval", "(require 'g-plain)", "--eval", SEES])
    same("the first of two", plain + "(require 'g-inner)\n" + SEES, ["g-plain"])
    same("one that an earlier one has loaded", "(require 'g-inner)\n(require 'g-plain)\n(require 'g-lazy)\n" + SEES, ["g-inner", "g-lazy"])
    same("an error", plain + "(error \"no\")\n", ["g-plain"])
    same("an unknown variable", "(require 'org)\n(defun f () nosuch)\n(f)\n", ["org"])
    same("what it leaves for the end", "(require 'g-hook)\n(add-hook 'kill-emacs-hook (lambda () (princ kill-emacs-hook)))\n", ["g-hook"])
    same("a launch elsewhere", plain + SEES, ["g-plain"], ["-Q", "-batch", "-l", "../learned.el"], directory="sub")
    same("an export", "(require 'org)\n(require 'ox-ascii)\n(with-temp-buffer (insert \"* T\\n\\nx *y*\\n\") (org-mode)"
         " (princ (org-export-as 'ascii)))\n", ["org", "ox-ascii"])
    same("a terminal zone", "(require 'org)\n(princ (format-time-string \"%Z\" 0))\n", ["org"], environment=dict(environment, TZ="Asia/Tokyo"))
    for name, text in (("another one first", "(require 'g-lazy)\n" + plain), ("a variable first", "(setq x 1)\n" + plain),
                       ("nothing", "(princ 1)\n"), ("a condition", "(when t (require 'g-plain))\n")):
        same("started anew: " + name, text, ["g-plain"], anew=HIDDEN)
    same("started anew: a library by its name", plain, ["g-plain"], ["-Q", "-batch", "-l", "g-plain"], anew=HIDDEN)
    libraries(emacs, same)
    same("started anew: another folder", plain, ["g-plain"], ["-Q", "-batch", "-L", "/tmp", "-l", "learned.el"], anew=HIDDEN)
    home = emacs.folder + "/home"
    os.makedirs(home)
    asks = dict(environment, HOME=home)
    text = "(require 'g-user-file)\n(princ g-user-file)\n"
    same("a missing file", text, ["g-user-file"], environment=asks)
    same("a missing file appears", text, ["g-user-file"], environment=asks, anew=CHANGED,
         change=lambda paused: emacs.write("home/.g-nosuch", ""))
    emacs.refused("a file that has appeared", environment=asks, imports=[f"g-user-file\t{stamp_of(emacs.folder + '/features/g-user-file.el')}",
                                                                          f"={home}/.g-nosuch\t0"])
    same("a file that is there", text, ["g-user-file"], environment=asks)
    emacs.write("older/g-compiled.el", ";;; -*- lexical-binding: t -*-\n(provide 'g-compiled)\n")
    older = dict(ENVIRONMENT, EMACSLOADPATH=emacs.folder + "/older:")
    subprocess.run([emacs.interpreter, "-Q", "-batch", "-f", "batch-byte-compile", "older/g-compiled.el"], cwd=emacs.folder, check=True,
                   env=ENVIRONMENT, stderr=subprocess.DEVNULL)
    compiled = "(require 'g-compiled)\n(princ 1)\n"
    same("a compiled library", compiled, ["g-compiled"], environment=older)
    # Emacs prints a warning if the source is newer.
    same("a newer source", compiled, ["g-compiled"], environment=older, anew=CHANGED,
         change=lambda paused: emacs.write("older/g-compiled.el", ";;; -*- lexical-binding: t -*-\n(provide 'g-compiled) ; x\n"))
    same("a library that is replaced", plain + "(princ (g-plain))\n", ["g-plain"], anew=CHANGED,
         change=lambda paused: emacs.write("features/g-plain.el", text_of("plain", "(defun g-plain () 2)")))
    emacs.refused("another file than was inspected", environment=environment, imports=["g-lazy\t1"])
    emacs.write("features/g-ends.el", text_of("ends", """(add-hook 'kill-emacs-hook (lambda () (write-region "" nil "~/ended")))"""))
    ended(emacs, dict(environment, HOME=home))


def libraries(emacs, same):
    """-l loads a library by its name, even if the library is loaded."""
    def words(*libraries, more=("--eval", SEES, "a")):
        return ["-Q", "-batch", *(word for library in libraries for word in ("-l", library)), *more]

    one = ["-l:g-plain"]
    same("a library", "", one, words("g-plain"))
    same("nothing but a library", "", one, words("g-plain", more=()))
    same("a backtrace after a library", "", one, words("g-plain", more=("--eval", "(backtrace)", "--eval", "(princ command-line-args)")))
    same("two libraries", "", ["-l:org", "-l:ox-html"], words("org", "ox-html"))
    same("the first of two libraries", "", ["-l:g-inner"], words("g-inner", "g-plain"))
    same("a library that another one has loaded", "", ["-l:g-inner", "-l:g-plain"], words("g-inner", "g-plain"))
    same("a library and a file", "(require 'g-plain)\n(require 'g-lazy)\n" + SEES, ["-l:g-plain", "g-lazy"], words("g-plain", "learned.el"))
    emacs.write("features/g-count.el", "(defvar g-count 0)\n(setq g-count (1+ g-count))\n")
    same("a library that is named twice", "", ["-l:g-count"], words("g-count", "g-count", more=("--eval", "(princ (list g-count features))")))
    same("tests", "(ert-deftest a () (should (equal 1 1)))\n(ert-deftest b () (ert-fail 1))\n", ["-l:ert"],
         words("ert", "learned.el", more=("-f", "ert-run-tests-batch-and-exit")),
         hides=[(rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[+-]\d{4}", b"TIME"), (rb"\d\.\d{6}", b"SECONDS")])
    for name, given in (("another library", words("g-lazy")), ("another library first", words("g-lazy", "g-plain")),
                        ("a feature", ["-Q", "-batch", "--eval", "(require 'g-plain)"]), ("a library that comes later", ["-Q", "-batch", "-f", "ignore", *words("g-plain")[2:]])):
        same("started anew: instead of a library, " + name, "", one, given, anew=HIDDEN)
    same("started anew: a file with the name of a library", "", one, words("g-plain"), anew=HIDDEN,
         change=lambda paused: emacs.write("g-plain", "(princ 'mine)"))
    os.remove(emacs.folder + "/g-plain")


def ended(emacs, environment):
    """A paused Emacs that is told to end does nothing for a program."""
    paused = emacs.pause(imports=["g-ends"], environment=environment)
    os.kill(paused.process.pid, signal.SIGTERM)
    paused.process.wait()
    paused.end()
    results.report("emacs: learned: the end of a paused process", not os.path.exists(environment["HOME"] + "/ended"))


def tools(emacs):
    """Programs of Emacs's own."""
    emacs.write("text.org", "* Title\nSome *bold* text and a [[https://example.org][link]].\n#+begin_src sh\necho 1\n#+end_src\n| a | b |\n")
    emacs.write("compiled.el", ";;; -*- lexical-binding: t -*-\n(defun unused (x) (undefined-function y))\n")
    for title, words in (
            ("export to HTML", ["-Q", "-batch", "text.org", "--eval", "(setq org-export-use-babel nil org-html-postamble nil)",
                                "-f", "org-html-export-as-html", "--eval", '(princ (replace-regexp-in-string "org[0-9a-f]\\\\{7\\\\}\\\\|<!-- [0-9].*" "ID" (buffer-string)))']),
            ("export to text", ["-Q", "-batch", "text.org", "-f", "org-ascii-export-as-ascii", "--eval", "(princ (buffer-string))"]),
            ("byte compilation", ["-Q", "-batch", "-f", "batch-byte-compile", "compiled.el"]),
            ("tests", ["-Q", "-batch", "-l", "ert", "--eval", "(ert-deftest a () (should (= 1 2)))", "-f", "ert-run-tests-batch-and-exit"])):
        emacs.same(title, words, hides=[(rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[+-]\d{4}", b"TIME"), (rb"\d\.\d{6}", b"SECONDS"), (rb"(?m)^<!-- \d.*$", b"DATE")])


def run():
    emacs = shutil.which("emacs", path=ENVIRONMENT["PATH"])
    if not emacs:
        return results.skip("emacs", "there is no emacs")
    emacs = language(emacs)
    for part in (scripts, programs, variables, files, tools):
        part(emacs)
    environment = dict(ENVIRONMENT, EMACSLOADPATH=emacs.folder + "/features:")
    for part in (traces, recording, learned):
        part(emacs, environment)
    emacs.end()
