;;; inspect.el --- find out for Greenroom what libraries do when they are loaded  -*- lexical-binding: t -*-

;;; Commentary:

;; It runs in a separate process:
;;
;;     emacs -Q -batch -l inspect.el <LIST
;;
;; LIST has a feature on each line, or -l:NAME for a library that the option -l loads.  libgreenroom-trace.so
;; is preloaded: it writes which functions of the C library were called, and this file tells it where each
;; feature, and each file that it loads beside its own, begins and ends, and what happens in Emacs itself: uses
;; of the words of the launch, of variables and of the directory, and changes of the state that all libraries
;; share.  Nothing here may load another library.

;;; Code:

;; Without this, compiled code calls functions of Emacs past this file, and a redefinition starts a compiler.
(setq load-no-native t
      comp-enable-subr-trampolines nil ; Emacs 28
      native-comp-enable-subr-trampolines nil)
(module-load (expand-file-name "../libgreenroom-trace.so" (file-name-directory load-file-name)))

(let* ((trace (symbol-function 'greenroom-trace))
       (tell (lambda (word text) (funcall trace (concat word " " text))))
       (does (lambda (reason) (funcall tell "does" reason)))
       (names
        (with-temp-buffer
          (insert-file-contents-literally "/proc/self/fd/0")
          (let ((names nil))
            (dolist (line (split-string (buffer-string) "\n" t))
              (unless (string-prefix-p "!" line) (push line names)))
            (nreverse names))))
       (environment process-environment)
       ;; Stands for the directory: a library that looks for a file there, or keeps a name with it, has used it.
       (nowhere "/proc/greenroom-no-directory/")
       ;; The variables that a launch replaces.  They get no value, so a library that reads one fails.
       (replaced '((command-line-args . "arguments") (command-line-args-left . "arguments")
                   (argv . "arguments") (command-line-default-directory . "directory") (process-environment . "variables")
                   (initial-environment . "variables") (before-init-time . "time") (after-init-time . "time")))
       ;; If a library changes one of these, the program finds that, or Emacs reads the program in another way.
       (variables '(load-path exec-path default-directory file-name-handler-alist load-suffixes
                    load-file-rep-suffixes load-source-file-function load-read-function load-prefer-newer
                    after-insert-file-functions format-alist auto-coding-alist auto-coding-regexp-alist
                    auto-coding-functions set-auto-coding-function file-coding-system-alist
                    coding-system-for-read inhibit-eol-conversion locale-coding-system file-name-coding-system
                    default-process-coding-system standard-output standard-input debugger debug-on-error
                    command-line-functions command-switch-alist after-change-functions
                    before-change-functions kill-buffer-hook buffer-list-update-hook shell-file-name user-emacs-directory
                    gc-cons-threshold load-no-native obarray))
       ;; The agenda keeps the time of its last marker, and has none yet.  Whatever ox-odt finds in the directory,
       ;; it takes no schema from there.
       (harmless '(("/org/org-agenda.elc" . "time") ("/org/ox-odt.elc" . "opens")))
       (functions '(load require eval eval-buffer insert-file-contents load-with-code-conversion
                    internal-macroexpand-for-load macroexpand-all command-line-1 kill-emacs))
       (is-bound (symbol-function 'boundp))
       (file-modes (symbol-function 'default-file-modes)) ; which is replaced below
       (state
        (lambda ()
          (append (mapcar (lambda (name) (and (funcall is-bound name) (symbol-value name))) variables)
                  (mapcar #'symbol-function functions)
                  (delq (get-buffer " *code-conversion-work*") (buffer-list)) timer-list timer-idle-list
                  (list (current-buffer) (point) (buffer-modified-tick) (length (buffer-local-variables))
                        (default-value 'lexical-binding) (selected-window) (funcall file-modes)))))
       (are-same
        (lambda (one other)
          (while (and one other (eq (car one) (car other)))
            (setq one (cdr one)
                  other (cdr other)))
          (not (or one other))))
       ;; The features and files in progress, the innermost first: the name, the state at its beginning.
       (progress nil)
       ;; The file that the innermost feature of the list has loaded first: the feature's own file.
       (own-file nil)
       ;; The state for which a file was last refused.  Files that load that file are not refused for it again.
       (refused nil)
       (begin
        (lambda (name)
          (funcall tell "begin" name)
          (dolist (each harmless)
            (when (string-suffix-p (car each) name) (funcall tell "spares" (cdr each))))
          (push (cons name (funcall state)) progress)))
       (end
        (lambda (path has-failed)
          (let ((one (pop progress)) (now (funcall state)))
            (unless (or (funcall are-same (cdr one) now) (and refused (funcall are-same refused now)))
              (setq refused now)
              (funcall does "state"))
            (funcall tell (if has-failed "fails" "end") (concat (car one) "\t" path)))))
       (note
        (lambda (name what)
          (let ((plain (symbol-function name)))
            (fset name (lambda (&rest words)
                         (apply what words)
                         (apply plain words))))))
       (value-of
        (lambda (name)
          (funcall tell "reads" name)
          (let ((found nil) (start (concat name "=")))
            (dolist (entry environment)
              (when (and (not found) (string-prefix-p start entry)) (setq found (substring entry (length start)))))
            found)))
       (definition (lambda (symbol) (cons (symbol-function symbol) (symbol-plist symbol))))
       ;; The last known definition of each symbol.
       (known (make-hash-table :test #'eq))
       ;; Whether a value, or a definition that is new since the last call, contains the directory's name.
       (keeps-directory
        (lambda ()
          (let ((keeps nil))
            (with-temp-buffer
              (mapatoms
               (lambda (symbol)
                 (when (and (funcall is-bound symbol) (not (memq symbol '(default-directory obarray signal-hook-function))))
                   (prin1 (symbol-value symbol) (current-buffer)))
                 (let ((before (gethash symbol known))
                       (now (funcall definition symbol)))
                   (unless (eq (car now) (car before)) (prin1 (car now) (current-buffer)))
                   (unless (eq (cdr now) (cdr before)) (prin1 (cdr now) (current-buffer)))
                   (puthash symbol now known))))
              (goto-char (point-min))
              (setq keeps (search-forward nowhere nil t)))
            keeps))))
  (dolist (folder (append load-path (list data-directory exec-directory)))
    (funcall tell "place" (directory-file-name folder)))
  (funcall tell "key" "files")
  (fmakunbound 'greenroom-trace)
  (fset 'getenv (lambda (name &optional _frame) (funcall value-of name)))
  (let ((plain (symbol-function 'getenv-internal)))
    (fset 'getenv-internal
          (lambda (name &optional list) (if list (funcall plain name list) (funcall value-of name)))))
  (funcall note 'setenv (lambda (&rest _) (funcall does "environment")))
  (funcall note 'substitute-in-file-name
           (lambda (name) (when (string-match-p "\\$" name) (funcall tell "reads" "*"))))
  (funcall note 'default-file-modes (lambda () (funcall does "state")))
  (funcall note 'mapbacktrace (lambda (&rest _) (funcall does "caller")))
  ;; Without a directory, these would fail before the C library is asked, or they read with their own functions alone.
  (dolist (name '(call-process call-process-region make-process))
    (funcall note name (lambda (&rest _) (funcall does "runs"))))
  (dolist (name '(read-from-minibuffer read-string read-buffer read-command read-variable read-char
                  read-char-exclusive read-event read-key-sequence read-key-sequence-vector))
    (funcall note name (lambda (&rest _) (funcall does "terminal"))))
  ;; Collecting garbage asks for the time.
  (setq gc-cons-threshold most-positive-fixnum
        default-directory nowhere)
  (dolist (each replaced) (makunbound (car each)))
  ;; The hook sees a use also where the library handles the error, or asks first.
  (setq signal-hook-function
        (lambda (symbol data)
          (let ((reason (and (eq symbol 'void-variable) (cdr (assq (car data) replaced)))))
            (when reason (funcall does reason)))))
  (dolist (name '(boundp default-boundp))
    (funcall note name (lambda (symbol) (when (assq symbol replaced) (funcall does (cdr (assq symbol replaced)))))))
  (dolist (name '(backtrace-frame backtrace-frames backtrace-get-frames))
    (when (fboundp name) (funcall note name (lambda (&rest _) (funcall does "caller")))))
  (add-variable-watcher
   'load-file-name
   (lambda (_symbol path operation _where)
     (cond ((and (eq operation 'let) (null own-file)) (setq own-file path))
           ((eq operation 'let) (funcall begin path))
           ((and (eq operation 'unlet) (cdr progress))
            (let ((path (car (car progress))))
              (funcall end path (not (assoc path load-history))))))))
  (mapatoms (lambda (symbol) (puthash symbol (funcall definition symbol) known)))
  (dolist (name names)
    (let* ((library (and (string-prefix-p "-l:" name) (substring name 3)))
           (is-new (or library (not (featurep (intern name))))) (has-failed nil) (hooks after-load-functions))
      (setq own-file nil)
      (funcall begin name)
      (condition-case error
          (if library (load library nil t) (require (intern name)))
        (error
         (setq has-failed t)
         (when (eq (car error) 'void-variable)
           (let ((reason (cdr (assq (cadr error) replaced))))
             (when reason (funcall does reason))))))
      (when (and is-new (funcall keeps-directory)) (funcall does "directory"))
      (let ((path (or (if library own-file (symbol-file (intern name) 'provide)) "")))
        (unless (or has-failed (not is-new) (equal path own-file)) (funcall does "state"))
        (unless (equal hooks after-load-functions) (funcall does "state"))
        (funcall end path has-failed))))
  (funcall trace "done"))

;;; inspect.el ends here
