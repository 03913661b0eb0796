// A static constructor and the standard library's streams.
#include <iostream>
#include <string>
static std::string before = "constructed";
int main(int argc, char **argv) {
    std::cout << before << " " << argc << " " << argv[argc - 1] << std::endl;
    return 0;
}
