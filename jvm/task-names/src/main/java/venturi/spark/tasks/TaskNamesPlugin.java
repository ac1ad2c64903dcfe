package venturi.spark.tasks;

import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskFailedReason;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.SparkPlugin;

/**
 * Has the kernel know which task a thread runs, so that a recording of block I/O says of every request
 * of which task it is: {@code spark.plugins} names this class.
 *
 * <p>While a task runs, its thread is called {@code v:STAGE.ATTEMPT:TASK}, each number in base 36. Its
 * name within Java stays. Where there is no {@code /proc} it keeps the other one, too.
 */
public final class TaskNamesPlugin implements SparkPlugin {
  @Override
  public DriverPlugin driverPlugin() {
    return null;
  }

  @Override
  public ExecutorPlugin executorPlugin() {
    return new OnExecutor();
  }

  /** Each of its methods is called in the thread of the task. */
  private static final class OnExecutor implements ExecutorPlugin {
    private static final String NAME = "/proc/thread-self/comm";
    private static final int KEPT = 15; // characters, by the kernel

    @Override
    public void onTaskStart() {
      TaskContext task = TaskContext.get();
      String stage = inBase36(task.stageId()) + '.' + inBase36(task.stageAttemptNumber());
      String name = "v:" + stage + ':' + inBase36(task.taskAttemptId());
      if (name.length() <= KEPT) {
        call(name);
      }
    }

    @Override
    public void onTaskSucceeded() {
      call(Thread.currentThread().getName());
    }

    @Override
    public void onTaskFailed(TaskFailedReason reason) {
      call(Thread.currentThread().getName());
    }

    private static String inBase36(long number) {
      return Long.toString(number, Character.MAX_RADIX);
    }

    /** A stream, and no channel, which an interrupt closes: a task that is killed has one. */
    private static void call(String name) {
      try (FileOutputStream file = new FileOutputStream(NAME)) {
        file.write(name.getBytes(StandardCharsets.UTF_8));
      } catch (IOException none) {
        // A task doesn't depend on its thread's name.
      }
    }
  }
}
