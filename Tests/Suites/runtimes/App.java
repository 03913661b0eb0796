// A program of several classes, which other cases than Main.java's need: what is learned of it (cases_classes.py).
import java.io.File;
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.stream.*;

public class App {
    interface Shape { double area(); }
    static class Base implements Shape { public double area() { return 1; } }
    static class Derived extends Base { public double area() { return 2 * super.area(); } }
    static class Leaf extends Derived { static { App.note("Leaf"); } }
    static class Other extends Base { static { App.note("Other"); } }
    static class Writer { static { App.note("Writer"); } static void write(String path) throws Exception { Files.writeString(Path.of(path), "x"); } }
    record Pair(String one, int two) {}
    enum Colour { RED, GREEN }
    static class Failing { static { if (true) throw new IllegalStateException("no"); } }

    static final List<String> order = new ArrayList<>();
    static void note(String name) { order.add(name + " with " + System.getenv("FOO") + " in " + new File("").getAbsolutePath()); }

    // To verify this, Java loads both classes and looks for what they have in common.
    static Shape choose(boolean first) { return first ? new Leaf() : new Other(); }

    public static void main(String[] words) throws Exception {
        switch (words.length == 0 ? "nothing" : words[0]) {
        case "order" -> {
            System.out.println(choose(words.length > 1).area() + choose(words.length == 1).area());
            System.out.println(order);
        }
        case "classes" -> {
            System.out.println(new Pair("x", 1) + " " + Colour.valueOf("GREEN") + Arrays.toString(Colour.values()));
            try { new Failing(); } catch (ExceptionInInitializerError error) { System.out.println(error.getCause()); }
            try { new Failing(); } catch (NoClassDefFoundError error) { System.out.println(error.getMessage()); }
            try { Class.forName("App$Absent"); } catch (ClassNotFoundException error) { System.out.println(error.getMessage()); }
            System.out.println(Leaf.class.getPackage().getName() + Leaf.class.getProtectionDomain().getCodeSource().getLocation());
        }
        case "stream" -> System.out.println(IntStream.range(0, 100).boxed().collect(Collectors.groupingBy(n -> n % 7, TreeMap::new,
            Collectors.summingInt(n -> n))) + String.format("%5.2f|%s", 1.5, "a b".replaceAll("(a) (b)", "$2 $1")));
        case "pool" -> {
            System.setProperty("java.util.concurrent.ForkJoinPool.common.parallelism", "7");
            System.out.println(ForkJoinPool.commonPool().getParallelism() + " " + IntStream.range(0, 99999).parallel().sum());
            System.out.println(CompletableFuture.supplyAsync(() -> 3).thenApply(n -> n + 1).get());
        }
        case "properties" -> {
            System.setProperty("java.util.logging.SimpleFormatter.format", "%4$s %5$s%n");
            java.util.logging.Logger.getLogger("x").warning("set before the first use");
            Locale.setDefault(Locale.GERMANY);
            System.out.println(String.format("%,.2f", 12345.678) + new java.text.DecimalFormat("#,##0.00").format(12345.678));
            System.out.println(java.text.DateFormat.getDateInstance(java.text.DateFormat.FULL).format(new Date(0)));
        }
        case "libraries" -> {
            // Each is the class of a library, which prints where it is from.
            for (String name : List.of(words).subList(1, words.length)) {
                try { Class.forName(name).getMethod("greet").invoke(null); }
                catch (ReflectiveOperationException | LinkageError error) { System.out.println(error); }
            }
        }
        case "makes" -> {
            // Writes a class into its own class path, and uses it.
            Files.copy(Path.of(words[1]), Path.of(words[2], "Made.class"), StandardCopyOption.REPLACE_EXISTING);
            Class.forName("Made").getMethod("greet").invoke(null);
        }
        case "many" -> {
            int count = Integer.parseInt(words[1]);
            for (int i = 0; i < count; i++) Class.forName(String.format("many.C%05d", i));
            System.out.println(count);
        }
        case "writes" -> Writer.write(words[1]);
        case "halt" -> { new Leaf(); Runtime.getRuntime().halt(5); }
        case "kill" -> { new Leaf(); new ProcessBuilder("kill", "-KILL", "" + ProcessHandle.current().pid()).start(); Thread.sleep(10000); }
        default -> System.out.println("nothing");
        }
    }
}
