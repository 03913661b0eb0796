/* The product's version, the only place to change it. A test holds the manual's pages and the Python
 * module, which cannot read it here, against it. */
#pragma once
#define GREENROOM_VERSION "0.1.0"
