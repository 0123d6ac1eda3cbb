/** A failure whose message is all a person needs: the command line prints it without a stack. */
export class LauncherError extends Error {
  override readonly name: string = "LauncherError";
}
