/// Linked to the library made of `constructor.c`.
int probe_library(void);
int main(void) { return probe_library(); }
