/* Declares the function for programs that choose where their prewarm ends.
 *
 * Greenroom prewarms a program by running it up to a pause and letting it go on at the launch. By
 * default, the pause is before main. A program whose manifest says so pauses where it calls
 * greenroom_prewarm_pause() instead: for example after it has read its tables, and before it looks
 * at its arguments.
 *
 * The function is in the preload shim, which is present only if Greenroom starts the program.
 * GREENROOM_PREWARM_PAUSE() calls it if it exists, so the program links and runs without it. */
#ifndef GREENROOM_PREWARM_H
#define GREENROOM_PREWARM_H

#ifdef __cplusplus
extern "C" {
#endif

/* Waits until this process is launched, or ends it if it will no longer be launched. On return, the
 * arguments and the environment are those of the launch: pass the addresses of main's own
 * variables, or NULL. Returns 1 if it paused, 0 if this process was not prewarmed or has been
 * launched already. */
__attribute__((weak)) int greenroom_prewarm_pause(int *argc, char ***argv, char ***envp);

#define GREENROOM_PREWARM_PAUSE(argc, argv, envp) \
    (greenroom_prewarm_pause ? greenroom_prewarm_pause((argc), (argv), (envp)) : 0)

#ifdef __cplusplus
}
#endif

#endif
