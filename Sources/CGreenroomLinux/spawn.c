#include "CGreenroomLinux.h"
