;;; greenroom.el --- pause Emacs before its program, for Greenroom  -*- lexical-binding: t -*-

;;; Commentary:

;; The daemon runs `emacs -Q -batch -l THIS_FILE PLACEHOLDER'.  Emacs works through the words of its
;; command line in `command-line-args-left'.  This file loads what GREENROOM_IMPORTS lists (if a launch
;; has taught it, what the program would load first), and puts a form there in place of the
;; placeholder.  When Emacs evaluates the form, it has left this file.  The form waits for a launch,
;; and the launch's words replace those of Emacs, which then goes on by itself.  If the program could
;; notice a difference from a direct call, Emacs is executed anew with the launch's words in the same
;; process.

;;; Code:

(module-load (expand-file-name "../libgreenroom-runtime.so" (file-name-directory load-file-name)))

(let* ((functions (symbol-plist 'greenroom-functions))
       (native (lambda (name &rest arguments) (apply (plist-get functions name) arguments)))
       (file load-file-name)
       ;; Why Emacs starts anew (enum gr_anew_reason in CPrewarm/wire.h).
       (other-options 1) (other-program 2) (hidden 3) (changed 4) (other-variables 5) (failed 7)
       (record-limit 65536) ; in bytes; the daemon reads no longer record
       (text-limit 65536) ; in bytes, of a program, in which its first forms are looked for
       ;; The variables that Emacs reads at its start.
       (names (concat "EMACS* HOME USER LOGNAME NAME SHELL ESHELL TMPDIR TMP TEMP XDG_* LANG LANGUAGE LC_* LD_* "
                      "PATH DISPLAY WAYLAND_DISPLAY TERM COLORTERM MAIL EMAIL INFOPATH ORGANIZATION HOSTNAME"))
       (give-up
        (lambda (message)
          (princ (format "greenroom: %s\n" message) #'external-debugging-output)
          (let ((kill-emacs-hook nil)) (kill-emacs 72))))
       (imports (split-string (or (funcall native 'take "GREENROOM_IMPORTS") "") "\n" t))
       ;; Lines that were learned have stamps.  The author of any other list knows the effects.
       (is-learned (and imports (string-match-p "\t" (car imports))))
       (initial features)
       ;; The imports that no other import has loaded, the last one first: the name in the list, and the earlier features.
       (roots nil)
       ;; The library in a line -l:NAME, which the option -l loads; nil for a feature.
       (library-of (lambda (name) (and (string-prefix-p "-l:" name) (substring name 3))))
       (suffixes (append (get-load-suffixes) load-file-rep-suffixes)) ; which `load' tries
       (hides-screen inhibit-startup-screen) ; which the option --eval changes
       (record (funcall native 'take "GREENROOM_RECORD"))
       (own-name
        (with-temp-buffer
          (insert-file-contents-literally "/proc/self/cmdline")
          (car (split-string (buffer-string) "\0"))))
       ;; The strings of the launch, as bytes.
       (strings
        (lambda (which)
          (butlast (split-string (apply #'unibyte-string (append (funcall native which) nil)) "\0"))))
       ;; Emacs decodes the words of its command line by the locale, and takes a variable for UTF-8
       ;; if it may be UTF-8.
       (decode-word (lambda (bytes) (decode-coding-string bytes locale-coding-system t)))
       (decode-variable
        (lambda (bytes)
          (let ((text (with-no-warnings (string-as-multibyte bytes))))
            (if (and (/= (length text) (length bytes)) (= (string-bytes text) (length bytes))) text bytes))))
       ;; Options that Emacs obeys before it works through the other words, each in one form.
       (first-option
        (lambda (word)
          (cond ((member word '("-Q" "-quick" "--quick")) "-Q")
                ((member word '("-batch" "--batch")) "-batch"))))
       ;; Options that Emacs obeys when it comes to them, each with a word that follows.
       (options '("-l" "-load" "--load" "-f" "-funcall" "--funcall" "-e" "-eval" "--eval" "-execute" "--execute"
                  "-L" "-directory" "--directory" "-insert" "--insert"))
       ;; The words of a launch that are left when Emacs begins to work through them, in a list;
       ;; nil if a word is not known here, or if the first options are not those of this process.
       (rest-of
        (lambda (words)
          (let ((seen nil) (rest nil) (is-known t))
            (while (funcall first-option (car words))
              (push (funcall first-option (pop words)) seen))
            (when (member (car words) '("-script" "--script"))
              (pop words)
              (push "-batch" seen)
              (push "-scriptload" rest)
              (if words (push (pop words) rest) (setq is-known nil)))
            (while words
              (let ((word (pop words)))
                (push word rest)
                (cond ((member word options)
                       (if words (push (pop words) rest) (setq is-known nil)))
                      ((and (string-prefix-p "-" word) (not (member word '("-kill" "--kill"))))
                       (setq is-known nil)))))
            (and is-known (member "-Q" seen) (member "-batch" seen) (list (nreverse rest))))))
       ;; PWD names the working directory if it is correct, as when Emacs starts.
       (set-directory
        (lambda ()
          (let* ((real (file-symlink-p "/proc/self/cwd"))
                 (variable (getenv-internal "PWD" process-environment))
                 (is-right (and variable (string-prefix-p "/" variable) (file-equal-p variable real)))
                 (directory (file-name-as-directory (if is-right variable real))))
            (unless (file-directory-p directory) (funcall native 'start-anew failed))
            (setq command-line-default-directory directory)
            (dolist (buffer (buffer-list))
              (with-current-buffer buffer (setq default-directory directory)))
            (when (and variable (not is-right))
              (setq process-environment (delete (concat "PWD=" variable) process-environment))))))
       ;; Emacs has stored the umask, which only proc_pid_status(5) shows.
       (read-mask
        (lambda ()
          (with-temp-buffer
            (insert-file-contents-literally "/proc/self/status")
            (re-search-forward "^Umask:\t\\([0-7]+\\)")
            (string-to-number (match-string 1) 8))))
       ;; Emacs has stored the directory of files to visit, so their names become absolute.
       (visit-here
        (lambda (files)
          (let ((normalize (symbol-function 'command-line-normalize-file-name)))
            (fset 'command-line-normalize-file-name
                  (lambda (name)
                    (if (memq name files)
                        (expand-file-name (funcall normalize name) command-line-default-directory)
                      (funcall normalize name)))))))
       (files-of
        (lambda (words)
          (let ((files nil))
            (while words
              (let ((word (pop words)))
                (cond ((or (member word options) (equal word "-scriptload")) (pop words))
                      ((not (string-prefix-p "-" word)) (push word files)))))
            files)))
       ;; Whether the option -l finds the library in `load-path', because the directory has no such file.
       (is-library
        (lambda (name)
          (let ((path (expand-file-name name)))
            (and (string-match-p "\\`[a-zA-Z0-9][a-zA-Z0-9._+-]*\\'" name)
                 (not (find-file-name-handler path 'load))
                 (not (file-regular-p (file-truename path)))))))
       ;; The names of what a program loads first, before anything of its own can make a difference: the libraries that
       ;; its first words load, then the features that the next words require, and those of the first forms of the file
       ;; that they load.
       (first-names
        (lambda (words)
          (let* ((names nil) (is-first t) (private (obarray-make 61)) ; whose symbols nobody finds
                 (takes-libraries t) ; until there is another word
                 (is-named (lambda (symbol name) (and symbol (symbolp symbol) (equal (symbol-name symbol) name))))
                 (is-nil (lambda (form) (or (null form) (funcall is-named form "nil"))))
                 (is-quoted-name
                  (lambda (form)
                    (and (funcall is-named (car-safe form) "quote") (null (cddr form)) (symbolp (cadr form)))))
                 (take
                  (lambda (form)
                    (let ((forms (list form)))
                      (while (and is-first forms)
                        (let* ((form (pop forms)) (head (car-safe form)) (arguments (cdr-safe form)))
                          (cond
                           ((and (funcall is-named head "require") (<= 1 (length arguments) 3)
                                 (funcall is-quoted-name (car arguments))
                                 (not (funcall library-of (symbol-name (cadr (car arguments)))))
                                 (funcall is-nil (nth 1 arguments))
                                 (or (symbolp (nth 2 arguments)) (funcall is-quoted-name (nth 2 arguments))))
                            (push (symbol-name (cadr (car arguments))) names))
                           ((or (funcall is-named head "progn") (funcall is-named head "eval-when-compile")
                                (funcall is-named head "eval-and-compile"))
                            (setq forms (append arguments forms)))
                           (t (setq is-first nil))))))))
                 (take-text
                  (lambda (text)
                    (let ((read (let ((obarray private)) (read-from-string text))))
                      (if (string-match-p "\\`[ \t\n]*\\'" (substring text (cdr read)))
                          (funcall take (car read))
                        (setq is-first nil)))))
                 (take-file
                  (lambda (name suffixes)
                    (let ((path (file-truename (expand-file-name (command-line-normalize-file-name name)))))
                      (if (or (find-file-name-handler path 'load) (not (file-regular-p path))
                              (not (equal (locate-file-internal path '("/") suffixes) path)))
                          (setq is-first nil)
                        (with-temp-buffer
                          (insert-file-contents-literally path nil 0 text-limit)
                          (while (and is-first
                                      (progn
                                        (while (progn (skip-chars-forward " \t\n\r\f") (looking-at-p ";\\|#!"))
                                          (forward-line))
                                        (not (eobp))))
                            (funcall take (let ((obarray private)) (read (current-buffer)))))
                          (when (= (buffer-size) text-limit) (setq is-first nil))))))))
            (condition-case nil
                (while (and is-first words)
                  (let* ((word (pop words)) (is-load (member word '("-l" "-load" "--load")))
                         (library (and is-load (funcall is-library (car words)) (concat "-l:" (pop words)))))
                    (unless library (setq takes-libraries nil))
                    (cond
                     (library ; which is loaded again if it is named twice
                      (if (and takes-libraries (not (member library names))) (push library names) (setq is-first nil)))
                     (is-load
                      (funcall take-file (pop words) suffixes))
                     ((equal word "-scriptload") (funcall take-file (pop words) '("")))
                     ((member word '("-eval" "--eval" "-execute" "--execute")) (funcall take-text (pop words)))
                     (t (setq is-first nil)))))
              (error nil))
            (delete-dups (nreverse names)))))
       ;; Whether the program begins with what was learned.
       (begins-with-list
        (lambda (names)
          (let ((left (reverse roots)) (loaded initial))
            (while (and names left)
              (let ((name (pop names)))
                (cond ((equal name (car (car left))) (setq loaded (cdr (pop left))))
                      ((not (memq (intern-soft name) loaded)) (setq names nil)))))
            (null left))))
       ;; The program loads this whatever else it does, so the record is sent at once.
       (send-record
        (lambda (names)
          (let ((text "") (is-listed t))
            (while (and names is-listed)
              (let ((line (concat (car names) "\n")))
                (cond ((memq (intern-soft (pop names)) initial))
                      ((and (string-match-p "\\`\\(-l:\\)?[a-zA-Z0-9][!-~]*\n\\'" line)
                            (< (+ (length text) (length line)) record-limit))
                       (setq text (concat text line)))
                      (t (setq is-listed nil)))))
            (funcall native 'send record (if (equal text "") "\n" text)))))
       (become
        (lambda ()
          (let* ((words (funcall strings 'words))
                 (rest (funcall rest-of (cdr words))))
            (unless (equal (car words) own-name) (funcall native 'start-anew other-options))
            (unless rest (funcall native 'start-anew other-program))
            (unless (funcall native 'variables-equal names) (funcall native 'start-anew other-variables))
            (unless (funcall native 'unchanged) (funcall native 'start-anew changed))
            (setq process-environment (nreverse (mapcar decode-variable (funcall strings 'variables)))
                  initial-environment (copy-sequence process-environment))
            (setenv "TZ" (getenv "TZ")) ; Emacs reads it again
            (setq process-environment (copy-sequence initial-environment))
            (funcall set-directory)
            (set-default-file-modes (logand #o777 (lognot (funcall read-mask))))
            (setq rest (mapcar decode-word (car rest)))
            (if rest
                ;; Emacs has called the current function with this list, which backtraces show.
                (let ((list (cdr command-line-args)))
                  (setcar list (car rest))
                  (setcdr list (cdr rest))
                  (setq command-line-args-left list))
              (setcdr command-line-args nil)
              (setq command-line-args-left nil))
            (when (funcall files-of rest) (funcall visit-here (funcall files-of rest)))
            (setq inhibit-startup-screen hides-screen
                  before-init-time (current-time)
                  after-init-time (current-time))
            (cond (is-learned
                   (unless (funcall begins-with-list (funcall first-names rest))
                     (funcall native 'start-anew hidden))
                   ;; What -l has loaded before the pause is not loaded again.
                   (dolist (root roots)
                     (when (funcall library-of (car root))
                       (setq command-line-args-left (nthcdr 2 command-line-args-left)))))
                  ;; The record is sent once: what a program loads first does not change.
                  (record (funcall send-record (funcall first-names rest))))
            (funcall native 'go-on))))
       (pause
        (lambda ()
          (unintern "greenroom-functions" obarray)
          (setq load-history (delq (assoc file load-history) load-history))
          ;; The files of Emacs itself are replaced, never edited, so their folders are enough.
          (let ((installed (file-name-directory (locate-library "simple"))))
            (dolist (entry load-history)
              (when (and (stringp (car entry)) (not (string-prefix-p installed (car entry))))
                (funcall native 'watch (car entry)))))
          (dolist (folder load-path)
            (funcall native 'watch (directory-file-name folder)))
          ;; SIGTERM makes Emacs run this hook, to which imports may have added.
          (unless (let ((kill-emacs-hook nil)) (funcall native 'wait))
            (funcall give-up "nobody waits for this process"))
          (condition-case nil
              (funcall become)
            (error (funcall native 'start-anew failed))))))
  (dolist (line imports)
    (condition-case error
        (let* ((fields (split-string line "\t"))
               (name (car fields))
               (path (if (string-prefix-p "=" name) (substring name 1) name)))
          (unless (string-prefix-p "/" path)
            (let* ((library (funcall library-of name))
                   (is-new (or library (not (featurep (intern name))))))
              (setq path (or (if library
                                 (prog1 (locate-file-internal library load-path suffixes) (load library nil t))
                               (require (intern name))
                               (symbol-file (intern name) 'provide))
                             ""))
              (when is-new (push (cons name features) roots))))
          ;; The stamp is that of the file which was inspected.
          (unless (member (cadr fields) (list nil "-" (funcall native 'stamp path)))
            (error "Another file than was inspected"))
          (unless (equal path "") (funcall native 'watch path)))
      (error (funcall give-up (format "%s: %s" line (error-message-string error))))))
  (setplist 'greenroom-functions (list 'pause pause))
  (setq command-line-args-left (list "--eval" "(funcall (get 'greenroom-functions 'pause))")))

;;; greenroom.el ends here
