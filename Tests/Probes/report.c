/// A shell on the session's message bus, as long as its standard input is open: reads lines `METHOD [ARGUMENT]`, calls
/// the methods of io.greenroom.Foreground, and prints "done" or the error's name for each. Needs libsystemd.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>

#define NAME "io.greenroom.Foreground"

int main(void) {
    sd_bus *bus = NULL;
    char line[300];
    if (sd_bus_open_user(&bus) < 0) return 8;
    while (fgets(line, sizeof line, stdin)) {
        sd_bus_error error = SD_BUS_ERROR_NULL;
        char *method = strtok(line, " \n"), *argument = strtok(NULL, " \n");
        const char *type = !argument ? "" : strcmp(method, "ReportProcess") ? "s" : "i";
        int result = -1;
        if (!*type) result = sd_bus_call_method(bus, NAME, "/io/greenroom/Foreground", NAME, method, &error, NULL, "");
        else if (*type == 's')
            result = sd_bus_call_method(
                bus, NAME, "/io/greenroom/Foreground", NAME, method, &error, NULL, type, argument);
        else
            result = sd_bus_call_method(
                bus, NAME, "/io/greenroom/Foreground", NAME, method, &error, NULL, type, atoi(argument));
        printf("%s\n", result < 0 ? error.name : "done");
        fflush(stdout);
        sd_bus_error_free(&error);
    }
    sd_bus_flush_close_unref(bus);
    return 0;
}
