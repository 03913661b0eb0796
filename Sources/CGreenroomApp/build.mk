# libgreenroom-app: for apps in C, without a Swift runtime. Plain C, built as a distribution would.
APP_FOLDER := .build/app
APP_LIBRARY := $(APP_FOLDER)/libgreenroom-app.so.0 $(APP_FOLDER)/libgreenroom-app.a
APP_SOURCES := $(wildcard Sources/CGreenroomApp/*.c)
APP_HEADERS := $(wildcard Sources/CGreenroomApp/*.h Sources/CGreenroomApp/include/*.h) Sources/CPrewarm/wire.h \
    Sources/CGreenroomLinux/keeper.h Sources/CGreenroomLinux/system_call.h
APP_CFLAGS := -std=c17 -O2 -fPIC -fvisibility=hidden -Wall -Wextra -Wshadow -Wconversion \
    -Wno-sign-conversion -Werror -ISources/CGreenroomApp/include

$(APP_FOLDER)/%.o: Sources/CGreenroomApp/%.c $(APP_HEADERS)
	@mkdir -p $(APP_FOLDER)
	@$(CLANG) $(APP_CFLAGS) -c -o $@ $<
# One object, so that only the names in the header can conflict with names of the app.
$(APP_FOLDER)/libgreenroom-app.a: $(APP_SOURCES:Sources/CGreenroomApp/%.c=$(APP_FOLDER)/%.o)
	@ld -r -o $(APP_FOLDER)/all.o $^ && objcopy --localize-hidden $(APP_FOLDER)/all.o
	@rm -f $@ && ar crs $@ $(APP_FOLDER)/all.o
$(APP_FOLDER)/libgreenroom-app.so.0: $(APP_SOURCES:Sources/CGreenroomApp/%.c=$(APP_FOLDER)/%.o)
	@$(CLANG) -shared -fuse-ld=lld -Wl,-soname,libgreenroom-app.so.0 -Wl,-z,relro,-z,now -o $@ $^
	@ln -sf libgreenroom-app.so.0 $(APP_FOLDER)/libgreenroom-app.so
$(APP_FOLDER)/probe: Tests/Suites/app-clients/probe.c $(APP_LIBRARY)
	@$(CLANG) -std=c17 -D_GNU_SOURCE -Wall -Wextra -Werror -ISources/CGreenroomApp/include -o $@ $< \
	    $(APP_FOLDER)/libgreenroom-app.a
