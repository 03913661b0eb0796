/// Says which numbers are prime. Most of its time goes into a table, so it makes the table, then pauses, and
/// only then looks at its arguments. Its manifest:
///
///     [App]
///     Exec=/usr/local/bin/primes
///     [Prewarm]
///     Depth=declared
///
///     cc -o primes primes.c            # C++: the same
#include <greenroom-prewarm.h>
#include <stdio.h>
#include <stdlib.h>

enum { LIMIT = 20000000 };
static char is_composite[LIMIT];

static void make_table(void) {
    is_composite[0] = is_composite[1] = 1;
    for (long number = 2; number * number < LIMIT; number++)
        for (long multiple = number * number; !is_composite[number] && multiple < LIMIT;
             multiple += number)
            is_composite[multiple] = 1;
}

int main(int argc, char **argv, char **envp) {
    make_table();
    // Returns at once where nobody prewarms the program.
    GREENROOM_PREWARM_PAUSE(&argc, &argv, &envp);

    const char *yes = getenv("PRIME"); // the launch's variable, like the arguments
    for (int i = 1; i < argc; i++) {
        long number = strtol(argv[i], NULL, 10);
        if (number < 0 || number >= LIMIT) return fprintf(stderr, "%s: not in the table\n", argv[i]), 1;
        printf("%s: %s\n", argv[i], is_composite[number] ? "no" : yes ? yes : "prime");
    }
    return 0;
}
