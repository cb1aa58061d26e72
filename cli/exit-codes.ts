/** What a script can tell apart. Documented in docs/cli.md; never renumbered. */
export const exitCodes = {
  done: 0,
  /** A fault, ours or of the store, the network or the disk: perhaps it works later. */
  failed: 1,
  /** The command line or the input is wrong; it will never work like this. */
  wrongUsage: 2,
  /** Nothing to pop or to show. */
  nothingThere: 3,
  /** Asked rightly and refused as things stand: locked, full, expired, not allowed. */
  refused: 4,
  /** The doctor found something that is wrong and still is; verify, a promise that is broken. */
  findings: 5,
  /** A place in a rate limit's line, whose turn is still to come. */
  notYet: 6,
  /** As shells count: 128 and SIGINT. */
  interrupted: 130,
  /** As shells count: 128 and SIGPIPE. Whoever read our output has gone. */
  readerGone: 141,
} as const

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]
