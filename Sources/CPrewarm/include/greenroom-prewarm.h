/* For programs that choose where their prewarm ends.
 *
 * Greenroom prewarms a program by running it up to a pause and resuming it at the launch. Without any
 * help the pause stands before main. A program whose manifest says so pauses where it calls
 * greenroom_prewarm_pause() instead: after reading its tables, before it looks at its arguments.
 *
 * The function is in the preload shim, which is there while Greenroom starts the program and not
 * otherwise. GREENROOM_PREWARM_PAUSE() looks for it, so that the program links and runs without. */
#ifndef GREENROOM_PREWARM_H
#define GREENROOM_PREWARM_H

#ifdef __cplusplus
extern "C" {
#endif

/* Waits until this process is launched, or ends it if it never will be. On return the arguments and the
 * environment are those of the launch: give the addresses of main's own variables, or NULL.
 * Returns 1 if it paused, 0 if this process was not prewarmed or has been launched already. */
__attribute__((weak)) int greenroom_prewarm_pause(int *argc, char ***argv, char ***envp);

#define GREENROOM_PREWARM_PAUSE(argc, argv, envp) \
    (greenroom_prewarm_pause ? greenroom_prewarm_pause((argc), (argv), (envp)) : 0)

#ifdef __cplusplus
}
#endif

#endif
