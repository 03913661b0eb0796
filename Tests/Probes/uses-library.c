/// A program that is linked to the library made from `constructor.c`.
int probe_library(void);
int main(void) { return probe_library(); }
