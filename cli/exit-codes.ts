/** The outcomes that a script can tell apart. docs/cli.md documents these numbers; never change one. */
export const exitCodes = {
  done: 0,
  /** Something failed here, in the store, on the network or on the disk: it may work later. */
  failed: 1,
  /** The command line or the input is wrong; it will never work like this. */
  wrongUsage: 2,
  /** Nothing to pop or to show. */
  nothingThere: 3,
  /** The request was right and was refused as things stand: locked, full, expired, not allowed. */
  refused: 4,
  /** The doctor found something that is still wrong, or verify found a broken promise. */
  findings: 5,
  /** A place in a rate limit's line, whose turn is still to come. */
  notYet: 6,
  /** As shells count: 128 and SIGINT. */
  interrupted: 130,
  /** As shells count: 128 and SIGPIPE. The reader of our output has gone. */
  readerGone: 141,
} as const

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]
