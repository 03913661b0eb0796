"""Emacs in batch: unmodified programs, the ways to name one, and every reason to start anew."""
import os
import shutil
import subprocess

import results
from cases_ruby import refuses
from comparing import ENVIRONMENT, Language
from instance import CHANGED, FAILED, OPTIONS, PROGRAM, RUNTIMES
from instance import ENVIRONMENT as VARIABLE

IMPORTS = ["cl-lib", "subr-x", "json", "seq", "org"]

# Each prints all that a program can observe of one subject.
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
    """Each way to name a program."""
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
    """What was imported must be what a direct run would import."""
    own = dict(ENVIRONMENT, EMACSLOADPATH=emacs.folder + "/library:")
    emacs.write("library/fresh.el", "(defvar fresh 1) (provide 'fresh)\n")
    words = ["-Q", "-batch", "--eval", "(progn (require 'fresh) (princ fresh))"]

    def settle():  # what changes while Emacs starts is not used
        subprocess.run([emacs.interpreter, "-Q", "-batch"], check=True)

    settle()
    emacs.same("an import of one's own", words, environment=own, imports=["fresh"])
    emacs.same("an import that was edited", words, environment=own, imports=["fresh"], anew=CHANGED,
               change=lambda paused: emacs.write("library/fresh.el", "(defvar fresh 11) (provide 'fresh)\n"))
    settle()
    emacs.same("a file that hides an import", words, environment=own, imports=["json"], anew=CHANGED,
               change=lambda paused: emacs.write("library/json.el", "(princ 'mine)\n"))
    refuses(emacs, "a missing import", ["nosuch"])


def recording(emacs):
    path = emacs.folder + "/list"
    emacs.write("uses.el", "(require 'org) (require 'json) (princ (length command-line-args-left))\n")
    words = ["-Q", "-batch", "-l", "uses.el", "x"]
    emacs.same("a launch that is recorded", words, prewarm=dict(ENVIRONMENT, GREENROOM_RECORD=path))
    with open(path) as file:
        names = file.read().split()
    results.report("emacs: the list has what was required", {"org", "json"} <= {*names}, str(names))
    emacs.same("a recorded list", words, imports=names)


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
    for part in (scripts, programs, variables, files, recording, tools):
        part(emacs)
    emacs.end()
