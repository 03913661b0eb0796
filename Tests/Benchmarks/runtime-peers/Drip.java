import java.io.FileInputStream;
import java.io.InputStream;

/** What drip does: a JVM with the class path and options of the program, started beforehand, which has loaded the program's
 *  main class and waits for one launch, whose arguments it reads from standard input (separated by NUL). */
public class Drip {
    public static void main(String[] words) throws Exception {
        var main = Class.forName(words[0]).getDeclaredMethod("main", String[].class);
        main.setAccessible(true);
        System.err.write('r');
        System.err.flush();
        InputStream input = new FileInputStream("/dev/stdin");
        byte[] line = new byte[65536];
        int length = input.read(line);
        main.invoke(null, (Object) new String(line, 0, length - 1).split("\0"));
        System.out.flush();
    }
}
