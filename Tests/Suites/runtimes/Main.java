// What a Java program can observe, a subject for each first argument (cases_java.py).
import java.io.*;
import java.lang.management.ManagementFactory;
import java.net.*;
import java.nio.charset.Charset;
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.stream.*;

public class Main {
    static final String AT_START = "start in " + new File("x").getAbsolutePath() + " with " + System.getenv("FOO");

    static class Seen extends RuntimeException {
        Seen(String message, Throwable cause) { super(message, cause); }
    }

    interface Greeting { String greet(String name); }

    static int depth(int n) { return depth(n + 1) + 1; }

    public static void main(String[] words) throws Exception {
        switch (words.length == 0 ? "nothing" : words[0]) {
        case "nothing" -> System.out.println(words.length + " " + AT_START);
        case "arguments" -> {
            System.out.println(Arrays.toString(words) + System.getProperty("sun.java.command"));
            System.out.println(Files.readString(Path.of("/proc/self/cmdline")) + Files.readString(Path.of("/proc/self/comm")));
            System.out.println(ProcessHandle.current().info().arguments().map(Arrays::toString));
        }
        case "environment" -> {
            System.out.println(System.getenv() + System.getenv("FOO") + System.getenv("NOSUCH"));
            System.out.println(new TreeMap<>(new ProcessBuilder().environment()));
            System.out.println(Files.readString(Path.of("/proc/self/environ")));
        }
        case "directory" -> {
            System.out.println(AT_START + System.getProperty("user.dir") + new File("").getAbsolutePath());
            System.out.println(Path.of("").toAbsolutePath() + " " + Path.of("x").toRealPath(LinkOption.NOFOLLOW_LINKS).getParent());
            System.out.println(new File("x").exists() + " " + Files.exists(Path.of("x")) + new File("..").getCanonicalPath());
            System.out.println(FileSystems.getDefault().getPath("y").toUri() + " " + new File("z").toURI());
            Files.writeString(Path.of("made"), "m");
            System.out.println(new TreeSet<>(Files.getPosixFilePermissions(Path.of("made"))));
            Files.delete(Path.of("made"));
        }
        case "properties" -> new TreeMap<>(System.getProperties()).forEach((key, value) -> System.out.println(key + "=" + value));
        case "exception" -> throw new IllegalStateException("boom");
        case "cause" -> {
            try { Integer.parseInt("x"); } catch (NumberFormatException error) { throw new Seen("seen", error); }
        }
        case "exit" -> System.exit(7);
        case "security manager" -> {
            try {
                System.setSecurityManager(new SecurityManager() {
                    @Override public void checkPermission(java.security.Permission wanted) {
                        if (wanted.getName().startsWith("exitVM.7")) throw new SecurityException("no " + wanted.getName());
                    }
                });
                System.exit(7);
            } catch (UnsupportedOperationException | SecurityException error) {
                System.out.println(error);
            }
            System.out.println(System.getSecurityManager() != null);
            System.exit(8);
        }
        case "halt" -> {
            Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("never")));
            Runtime.getRuntime().halt(8);
        }
        case "hooks" -> {
            Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("hook")));
            System.out.println("before");
        }
        case "streams" -> {
            System.out.println(System.console() != null);
            System.out.println(System.out.checkError() + " " + Charset.defaultCharset() + System.getProperty("sun.stdout.encoding"));
            System.out.println(new BufferedReader(new InputStreamReader(System.in)).lines().collect(Collectors.toList()));
            System.err.println("errors"); System.out.print("no end");
        }
        case "scanner" -> { Scanner in = new Scanner(System.in); System.out.println(in.nextLine() + in.hasNextLine()); }
        case "console" -> System.out.println(System.console() == null ? "none" : System.console().readLine("name? "));
        case "stack" -> {
            System.out.println(Arrays.toString(Thread.currentThread().getStackTrace()));
            System.out.println("" + StackWalker.getInstance().walk(frames -> frames.map(Object::toString).collect(Collectors.toList())));
            new Throwable("here").printStackTrace();
        }
        case "deep" -> {
            try { depth(0); } catch (StackOverflowError error) { System.out.println(error.getStackTrace().length); }
        }
        case "process" -> {
            System.out.println(ProcessHandle.current().pid() == Long.parseLong(new File("/proc/self").getCanonicalFile().getName()));
            Process child = new ProcessBuilder("sh", "-c", "echo $FOO; pwd; umask; ulimit -n; exit 4").redirectErrorStream(true).start();
            System.out.println(new String(child.getInputStream().readAllBytes()) + child.waitFor());
            new ProcessBuilder("echo", "inherited").inheritIO().start().waitFor();
        }
        case "encodings" -> {
            System.out.println(Charset.defaultCharset() + " " + Locale.getDefault() + " " + System.getProperty("sun.jnu.encoding"));
            System.out.println(Arrays.toString(words) + new File("ü").getName().length() + " äö€");
            System.out.println(TimeZone.getDefault().getID() + new Date(0) + java.time.ZoneId.systemDefault());
        }
        case "threads" -> {
            ExecutorService pool = Executors.newFixedThreadPool(3);
            List<Future<Integer>> sums = new ArrayList<>();
            for (int i = 0; i < 5; i++) { int n = i; sums.add(pool.submit(() -> IntStream.range(0, n * 1000).sum())); }
            for (Future<Integer> sum : sums) System.out.println(sum.get());
            pool.shutdown();
            System.out.println(IntStream.range(0, 100000).parallel().sum() + " " + Thread.currentThread());
            Thread failing = new Thread(() -> { throw new RuntimeException("in a thread"); }, "failing");
            failing.start(); failing.join();
        }
        case "all threads" -> System.out.println(new TreeMap<>(Thread.getAllStackTraces().keySet().stream()
            .collect(Collectors.toMap(Thread::getName, thread -> thread.isDaemon() + " " + thread.getPriority()))));
        case "daemon" -> {
            Thread other = new Thread(() -> { try { Thread.sleep(100); } catch (InterruptedException error) { } System.out.println("after main"); });
            other.start(); System.out.println("main ends");
        }
        case "terminate" -> {
            Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("hook")));
            new ProcessBuilder("kill", words[1], "" + ProcessHandle.current().pid()).start().waitFor();
            Thread.sleep(60000);
        }
        case "signal" -> {
            sun.misc.Signal.handle(new sun.misc.Signal("USR2"), signal -> { System.out.println(signal); System.exit(3); });
            sun.misc.Signal.raise(new sun.misc.Signal("USR2"));
            Thread.sleep(60000);
        }
        case "resources" -> {
            System.out.println(Main.class.getResource("Main.class") + " " + Main.class.getProtectionDomain().getCodeSource());
            System.out.println(new String(Main.class.getResourceAsStream("text").readAllBytes()));
            System.out.println(ClassLoader.getSystemClassLoader().getClass() + Main.class.getModule().toString());
        }
        case "reflection" -> {
            Greeting greeting = (Greeting) java.lang.reflect.Proxy.newProxyInstance(Main.class.getClassLoader(),
                new Class<?>[] {Greeting.class}, (proxy, method, values) -> method.getName() + values[0]);
            System.out.println(greeting.greet("x") + Class.forName("Main").getDeclaredMethods().length);
        }
        case "streams of data" -> System.out.println(Stream.of("b", "a", "c").sorted().map(String::toUpperCase)
            .collect(Collectors.groupingBy(String::length)) + String.format("%5.2f|%-5s|%s", 1.5, "x", new Date(0).getTime()));
        case "network" -> {
            try (ServerSocket server = new ServerSocket(0)) {
                Thread client = new Thread(() -> {
                    try (Socket socket = new Socket("localhost", server.getLocalPort())) { socket.getOutputStream().write(65); }
                    catch (IOException error) { error.printStackTrace(); }
                });
                client.start();
                System.out.println(server.accept().getInputStream().read());
            }
        }
        case "files" -> {
            Path file = Files.createTempFile("greenroom", ".x");
            Files.write(file, List.of("one", "two"));
            System.out.println(Files.readAllLines(file) + " " + file.getParent());
            Files.delete(file);
            try (Stream<Path> list = Files.list(Path.of("."))) { System.out.println(list.map(Path::toString).sorted().collect(Collectors.toList())); }
            new FileReader("nosuch");
        }
        case "regular expressions" -> System.out.println("a1b22".replaceAll("\\d+", "#") + "x,y".split(",").length);
        case "random" -> System.out.println(new Random(1).nextInt(100) + " " + UUID.nameUUIDFromBytes(new byte[] {1}));
        case "text" -> System.out.println(java.text.NumberFormat.getInstance().format(1234.5)
            + java.text.MessageFormat.format("{0} {1}", 1, "x") + new java.math.BigDecimal("1.10").add(java.math.BigDecimal.ONE)
            + java.time.LocalDate.of(2020, 1, 31).plusMonths(1));
        case "logging" -> { java.util.logging.Logger.getLogger("x").warning("careful"); }
        case "time" -> {
            long begin = System.nanoTime(), wall = System.currentTimeMillis();
            Thread.sleep(50);
            System.out.println((System.nanoTime() - begin) / 1_000_000 < 5000 && System.currentTimeMillis() - wall >= 49);
        }
        case "assertions" -> { assert false : "asserted"; System.out.println("no assertions"); }
        case "memory" -> System.out.println(Runtime.getRuntime().maxMemory() + " " + Runtime.getRuntime().availableProcessors()
            + ManagementFactory.getGarbageCollectorMXBeans().stream().map(bean -> bean.getName()).collect(Collectors.toList()));
        case "descriptors" -> System.out.println(new String(new ProcessBuilder("ls", "/proc/self/fd").start().getInputStream().readAllBytes()));
        case "large" -> System.out.println("x".repeat(300000));
        case "broken" -> Class.forName("NoSuchClass");
        case "linkage" -> System.loadLibrary("nosuchlibrary");
        case "many" -> System.out.println(words.length + " " + System.getenv("BIG").length());
        case "out" -> { byte[] all = new byte[256]; for (int i = 0; i < 256; i++) all[i] = (byte) i; System.out.write(all); System.out.flush(); }
        case "pause" -> { System.out.println("typed " + new BufferedReader(new InputStreamReader(System.in)).readLine()); }
        default -> System.out.println("unknown");
        }
    }
}
