/* Sums: keeps a checksum of each file in a folder, and reports files whose content has changed although their time and
 * size have not, as on a failing disk.
 *
 *     greenroomctl run Sums [FOLDER]      the report; the folder is remembered (at first: the home directory)
 *     greenroomctl action Sums check      checks now; goes on in the background for as long as there is time
 *
  * By itself it checks once a day, while nobody uses the machine, one file at a time. When its time runs out,
  * it remembers where it was and schedules another run.
 */
#define _GNU_SOURCE 1
#include <greenroom-app.h>

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char task[] = "io.greenroom.Sums.check";
enum { DAY = 24 * 60 * 60 };

struct sum {
    char *name;
    uint64_t hash;
    long long time, size;
    bool is_damaged;
};

/* The known files, in the order of their names, and the position of a check. */
static struct sum *sums;
static size_t sum_count;
static char folder[PATH_MAX], *position;
/* The files of the check under way. */
static struct dirent **files;
static int file_count, file_index;
static uint64_t run, background_task;
static size_t damaged_count;

static bool is_checking(void) { return files != NULL; }

/* --- The saved sums: lines in one of the app's own files. */

static void path_of(const struct greenroom_app *app, char *path, const char *suffix) {
    const char *state = greenroom_app_launch_info(app)->state_directory;
    snprintf(path, PATH_MAX, "%s/sums%s", state ? state : ".", suffix);
}

static struct sum *find(const char *name) {
    for (size_t i = 0; i < sum_count; i++)
        if (strcmp(sums[i].name, name) == 0) return &sums[i];
    return NULL;
}

static struct sum *add(const char *name) {
    struct sum *grown = realloc(sums, (sum_count + 1) * sizeof *sums);
    char *copy = strdup(name);
    if (!grown || !copy) exit(1);
    sums = grown;
    sums[sum_count] = (struct sum){.name = copy};
    return &sums[sum_count++];
}

static void load(const struct greenroom_app *app) {
    char path[PATH_MAX], *line = NULL;
    size_t room = 0;
    path_of(app, path, "");
    FILE *file = fopen(path, "re");
    while (file && getline(&line, &room, file) > 0) {
        struct sum read = {0};
        int begin = 0, is_damaged = 0;
        line[strcspn(line, "\n")] = 0;
        if (strncmp(line, "folder ", 7) == 0) snprintf(folder, sizeof folder, "%s", line + 7);
        else if (strncmp(line, "next ", 5) == 0) position = strdup(line + 5);
        else if (sscanf(line, "%" SCNx64 " %lld %lld %d %n", &read.hash, &read.time, &read.size, &is_damaged, &begin) == 4) {
            struct sum *one = add(line + begin);
            char *name = one->name;
            *one = read;
            one->name = name;
            one->is_damaged = is_damaged;
        }
    }
    free(line);
    if (file) fclose(file);
}

/* Replaces the file as a whole: after a crash, it is the old one or the new one. */
static void save(const struct greenroom_app *app) {
    char path[PATH_MAX], next[PATH_MAX];
    path_of(app, path, "");
    path_of(app, next, ".new");
    FILE *file = fopen(next, "we");
    if (!file) return perror(next);
    fprintf(file, "folder %s\n", folder);
    if (is_checking() && file_index < file_count) fprintf(file, "next %s\n", files[file_index]->d_name);
    for (size_t i = 0; i < sum_count; i++)
        fprintf(file, "%" PRIx64 " %lld %lld %d %s\n", sums[i].hash, sums[i].time, sums[i].size, sums[i].is_damaged, sums[i].name);
    if (fclose(file) != 0 || rename(next, path) != 0) perror(path);
}

/* --- A check, a file at a time. */

static int is_wanted(const struct dirent *entry) { return entry->d_type == DT_REG && !strchr(entry->d_name, '\n'); }

static void begin_check(struct greenroom_app *app) {
    if (is_checking()) return;
    file_count = scandir(folder, &files, is_wanted, alphasort);
    if (file_count < 0) return perror(folder);
    file_index = 0;
    damaged_count = 0;
    /* Goes on where the last check had to stop. */
    while (position && file_index < file_count && strcmp(files[file_index]->d_name, position) < 0) file_index++;
    printf("checks %s from file %d of %d\n", folder, file_index + 1, file_count);
    (void)app;
}

/* FNV-1a, which finds accidental changes. */
static bool hash_file(const char *path, uint64_t *hash) {
    unsigned char bytes[65536];
    FILE *file = fopen(path, "re");
    if (!file) return false;
    *hash = 0xcbf29ce484222325;
    size_t count;
    do {
        count = fread(bytes, 1, sizeof bytes, file);
        for (size_t i = 0; i < count; i++) *hash = (*hash ^ bytes[i]) * 0x100000001b3;
    } while (count == sizeof bytes);
    bool is_whole = !ferror(file);
    fclose(file);
    return is_whole;
}

static void check_file(const char *name) {
    char path[2 * PATH_MAX];
    struct stat status;
    uint64_t hash;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (stat(path, &status) != 0 || !hash_file(path, &hash)) return;
    struct sum *known = find(name);
    bool is_same_file = known && known->time == (long long)status.st_mtime && known->size == (long long)status.st_size;
    if (is_same_file && known->hash != hash) {
        known->is_damaged = true;
        damaged_count++;
        printf("damaged: %s\n", path);
    } else if (!is_same_file) {
        if (!known) known = add(name);
        char *kept = known->name;
        *known = (struct sum){kept, hash, status.st_mtime, status.st_size, false};
    }
}

static void submitted(struct greenroom_app *app, int error, const char *reason, void *context) {
    (void)app;
    (void)context;
    if (error) printf("not scheduled: %s\n", reason);
}

static void schedule(struct greenroom_app *app, time_t delay) {
    struct greenroom_task_request request = {
        .identifier = task, .kind = GREENROOM_PROCESSING,
        .earliest_begin = (uint64_t)(time(NULL) + delay) * 1000000, .requires_external_power = true,
    };
    greenroom_app_submit_task(app, &request, submitted, NULL);
}

/* Called at the end of a check, or when its time has run out. */
static void stop_check(struct greenroom_app *app) {
    if (!is_checking()) return;
    bool is_done = file_index >= file_count;
    save(app);
    free(position);
    position = is_done ? NULL : strdup(files[file_index]->d_name);
    for (int i = 0; i < file_count; i++) free(files[i]);
    free(files);
    files = NULL;
    printf("%s after file %d of %d, %zu damaged\n", is_done ? "done" : "stopped", file_index, file_count, damaged_count);
    schedule(app, is_done ? DAY : 0);
    greenroom_app_complete_task(app, run, is_done);
    greenroom_app_end_background_task(app, background_task);
    run = background_task = 0;
}

static void time_is_over(struct greenroom_app *app, uint64_t number, void *context) {
    (void)number;
    (void)context;
    stop_check(app);
}

/* --- The app. */

static void scheduled(struct greenroom_app *app, const struct greenroom_task *one, void *context) {
    (void)context;
    run = one->number;
    greenroom_app_set_task_expiration(app, run, time_is_over, NULL);
    begin_check(app);
    if (!is_checking()) greenroom_app_complete_task(app, run, false);
}

static void report(void) {
    size_t damaged = 0;
    for (size_t i = 0; i < sum_count; i++) {
        if (!sums[i].is_damaged) continue;
        damaged++;
        printf("damaged: %s/%s\n", folder, sums[i].name);
    }
    printf("%zu files of %s known, %zu damaged\n", sum_count, folder, damaged);
}

static void listed(
    struct greenroom_app *app, int error, const struct greenroom_task_request *requests, size_t count, void *context
) {
    (void)requests;
    (void)context;
    if (!error && count == 0) schedule(app, 0);
}

static bool finished(struct greenroom_app *app, const struct greenroom_content *options) {
    (void)options;
    const char *home = getenv("HOME"), *chosen = greenroom_app_context(app) ? *(char **)greenroom_app_context(app) : NULL;
    greenroom_app_register_task(app, task, scheduled, NULL);
    load(app);
    if (chosen || !*folder) {
        if (!realpath(chosen ? chosen : home ? home : "/", folder)) perror(chosen);
        sum_count = 0;
        save(app);
    }
    greenroom_app_list_tasks(app, listed, NULL);
    return true;
}

static bool action(struct greenroom_app *app, const char *type) {
    if (strcmp(type, "check") != 0) return false;
    begin_check(app);
    /* A check that was begun in the foreground may go on when the app leaves it. */
    if (is_checking() && !background_task)
        background_task = greenroom_app_begin_background_task(app, "check", time_is_over, NULL);
    return true;
}

static void event(struct greenroom_app *app, enum greenroom_event which) {
    if (which == GREENROOM_DID_BECOME_ACTIVE) {
        report();
        greenroom_app_did_draw_first_frame(app);
    }
    if (which == GREENROOM_WILL_TERMINATE) stop_check(app);
}

int main(int argc, char **argv) {
    char *chosen = NULL;
    struct greenroom_delegate delegate = {.did_finish_launching = finished, .perform_action = action, .event = event};
    setlinebuf(stdout);
    struct greenroom_app *app = greenroom_app_start(&delegate, &chosen, &argc, &argv);
    if (!app) return 1;
    if (argc > 1) chosen = argv[1];
    for (;;) {
        greenroom_app_process(app);
        if (is_checking() && file_index < file_count) check_file(files[file_index++]->d_name);
        else if (is_checking()) stop_check(app);
        struct pollfd entry = {.fd = greenroom_app_descriptor(app), .events = POLLIN};
        (void)poll(&entry, 1, is_checking() ? 0 : -1);
    }
}
