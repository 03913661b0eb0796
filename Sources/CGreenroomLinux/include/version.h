/* The product's version, and the only place to change it. A test compares the manual's pages and
 * the Python module, which cannot read it here, with it. */
#pragma once
#define GREENROOM_VERSION "0.1.0"
