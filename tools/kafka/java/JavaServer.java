import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.security.SecureRandom;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs main methods of Java classes for callers on loopback, one after the other: a tool costs 0.1 s instead of the 2 s of a JVM of its own.
 *
 * The one argument is a file, into which "PORT TOKEN" is written; only who can read it can call.
 * A call is a connection. Request: int length and JSON {"token", "class", "arguments"}, int length and the bytes for System.in.
 * Answer: frames of a byte ('o' System.out, 'e' System.err, 'x' the end), int length, bytes; those of 'x' are the exit code.
 * When the caller is gone before the end and the tool cannot be interrupted, this JVM ends: the state it would go on with is unknown.
 */
public final class JavaServer {
    /** Thrown in place of the end of the JVM that a tool asks for. */
    private static final class ExitCalled extends Error {
        ExitCalled() {
            super(null, null, false, false); // no stack: it is caught, never shown
        }
    }

    /** The run that goes on. Statics, since System.in, System.out and the exit procedure are. */
    private static volatile Integer exitCode;
    /** After exit a JVM prints no more, but a tool that caught {@link ExitCalled} would. */
    private static volatile boolean exited;
    private static volatile InputStream input = InputStream.nullInputStream();
    private static volatile DataOutputStream answer;
    private static final List<Runnable> shutdownHooks = new ArrayList<>();

    public static void main(String[] args) throws Exception {
        // Some tools keep the System.out they first saw, so these stay the same and look for the current run themselves.
        System.setIn(new CurrentInput());
        Frames out = new Frames('o');
        Frames err = new Frames('e');
        System.setOut(new Unclosable(out));
        System.setErr(new Unclosable(err));
        Exit.Procedure exit = (code, message) -> {
            // The first one counts: tools catch what is thrown here and exit again.
            if (exitCode == null) {
                exitCode = code;
                if (message != null) System.err.println(message);
                exited = true;
            }
            throw new ExitCalled();
        };
        Exit.setExitProcedure(exit);
        Exit.setHaltProcedure(exit);
        // ConsoleProducer closes its producer in such a hook.
        Exit.setShutdownHookAdder((name, hook) -> {
            synchronized (shutdownHooks) {
                shutdownHooks.add(hook);
            }
        });

        byte[] secret = new byte[16];
        new SecureRandom().nextBytes(secret);
        String token = Base64.getUrlEncoder().withoutPadding().encodeToString(secret);
        try (ServerSocket server = new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"))) {
            Path file = Path.of(args[0]);
            Path temporary = Path.of(args[0] + ".new");
            Files.writeString(temporary, server.getLocalPort() + " " + token);
            Files.move(temporary, file, StandardCopyOption.ATOMIC_MOVE);
            while (true) {
                try (Socket socket = server.accept()) {
                    socket.setTcpNoDelay(true);
                    // A caller that connects and says nothing must not keep the others waiting.
                    socket.setSoTimeout(10_000);
                    serve(socket, token);
                } catch (IOException e) {
                    // The caller is gone; the next one.
                }
            }
        }
    }

    private static void serve(Socket socket, String token) throws IOException, InterruptedException {
        DataInputStream in = new DataInputStream(socket.getInputStream());
        JsonNode request = new ObjectMapper().readTree(in.readNBytes(in.readInt()));
        byte[] stdin = in.readNBytes(in.readInt());
        if (!request.path("token").asText().equals(token)) return;
        socket.setSoTimeout(0);
        List<String> arguments = new ArrayList<>();
        request.path("arguments").forEach(argument -> arguments.add(argument.asText()));

        exitCode = null;
        exited = false;
        input = new ByteArrayInputStream(stdin);
        answer = new DataOutputStream(socket.getOutputStream());
        Thread run = new Thread(() -> run(request.path("class").asText(), arguments.toArray(new String[0])), "run");
        run.start();
        Thread watch = new Thread(() -> watch(in, run), "watch");
        watch.setDaemon(true);
        watch.start();
        run.join();
        System.out.flush();
        System.err.flush();
        DataOutputStream last = answer;
        answer = null;
        synchronized (last) {
            last.writeByte('x');
            last.writeInt(4);
            last.writeInt(exitCode == null ? 0 : exitCode);
            last.flush();
        }
    }

    private static void run(String name, String[] arguments) {
        try {
            Class.forName(name).getMethod("main", String[].class).invoke(null, (Object) arguments);
        } catch (InvocationTargetException e) {
            if (!(e.getCause() instanceof ExitCalled)) fail(e.getCause());
        } catch (ClassNotFoundException e) {
            System.err.println("there is no class " + name + " in Kafka's jars and tools/kafka/java");
            if (exitCode == null) exitCode = 1;
        } catch (Throwable e) {
            fail(e);
        }
        exited = false;
        List<Runnable> hooks;
        synchronized (shutdownHooks) {
            hooks = List.copyOf(shutdownHooks);
            shutdownHooks.clear();
        }
        for (Runnable hook : hooks) {
            try {
                hook.run();
            } catch (Throwable e) {
                if (!(e instanceof ExitCalled)) fail(e);
            }
        }
    }

    private static void fail(Throwable e) {
        e.printStackTrace();
        if (exitCode == null) exitCode = 1;
    }

    /** Nothing follows a request, so a read ends only when the caller closes. */
    private static void watch(InputStream in, Thread run) {
        try {
            while (in.read() >= 0);
        } catch (IOException e) {
            // A reset: gone as well.
        }
        if (!run.isAlive()) return;
        run.interrupt();
        try {
            run.join(5000);
        } catch (InterruptedException e) {
            return;
        }
        if (run.isAlive()) Runtime.getRuntime().halt(3);
    }

    /** A tool that closes System.out would close it for all that come after. */
    private static final class Unclosable extends PrintStream {
        Unclosable(OutputStream out) {
            super(out, false, StandardCharsets.UTF_8);
        }

        @Override
        public void close() {
            flush();
        }
    }

    private static final class CurrentInput extends InputStream {
        @Override
        public int read() throws IOException {
            return input.read();
        }

        @Override
        public int read(byte[] bytes, int offset, int length) throws IOException {
            return input.read(bytes, offset, length);
        }

        @Override
        public int available() throws IOException {
            return input.available();
        }
    }

    /** Collects up to 64 KB and sends them as a frame of the current run; between runs it drops them. */
    private static final class Frames extends OutputStream {
        private final int kind;
        private final ByteArrayOutputStream pending = new ByteArrayOutputStream();

        Frames(int kind) {
            this.kind = kind;
        }

        @Override
        public synchronized void write(int b) throws IOException {
            if (exited) return;
            pending.write(b);
            if (pending.size() >= 65_536) flush();
        }

        @Override
        public synchronized void write(byte[] bytes, int offset, int length) throws IOException {
            if (exited) return;
            pending.write(bytes, offset, length);
            if (pending.size() >= 65_536) flush();
        }

        @Override
        public synchronized void flush() throws IOException {
            DataOutputStream out = answer;
            if (out != null && pending.size() > 0) {
                synchronized (out) {
                    out.writeByte(kind);
                    out.writeInt(pending.size());
                    pending.writeTo(out);
                    out.flush();
                }
            }
            pending.reset();
        }
    }
}
