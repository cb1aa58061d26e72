// What each function is, as data: its file, memory and time, what the stack on one machine must know of it, and in
// which groups functions are bundled.

import type { FunctionName, OptionalFunctionName } from '../../lambdas/runtime/names.ts'

export type FunctionSetting = {
  /** In `lambdas/handlers`. */
  readonly file: string
  readonly description: string
  readonly memoryMb: number
  readonly timeoutSeconds: number
  /** It holds calls for seconds in which it does nothing, so a machine can run many of them at once. */
  readonly holdsCalls?: true
  /**
   * An event for it when a stack on one machine may have lost other events. If it answers with a `cursor`, the event
   * comes again with that in it; if it answers that some `failed`, the whole event comes again.
   */
  readonly afterLoss?: object
  /**
   * The same, when no function of the stack before it is alive. If the function has both, no other one gets an event
   * before it has answered.
   */
  readonly afterRestart?: object
  /** An event with which the local stack calls it at each start, because its schedule comes only a minute later. */
  readonly atStart?: object
}

/** In a function's metadata in the template: what the stack on one machine must know of it. */
export const metadata = {
  holdsCalls: 'pushpop:holds-calls',
  /** What it is called with when events may have been lost. */
  afterLoss: 'pushpop:after-loss',
  afterRestart: 'pushpop:after-restart',
  atStart: 'pushpop:at-start',
  /** Only with `LOCAL`: the sources that it was bundled from, to bundle it again. */
  bundledFrom: 'pushpop:bundled-from',
} as const

/** In the context: the app is synthesised to run on one machine. */
export const LOCAL = 'pushpop:local'

/**
 * The gateway gives up after 30 seconds, and a caller that hangs up learns nothing: the function
 * ends first. The engine stops trying long before.
 */
const REQUEST_SECONDS = 29
/**
 * Memory is CPU: 1,769 MB are one core. A request mostly waits for DynamoDB, but its own part (JSON,
 * compression, starting cold) is what 1,024 MB make 2–3 times as fast as 512 for $0.04 a million
 * calls; and a segment of 250 items of 256 KiB, 64 MB, is at times held twice.
 */
const REQUEST_MB = 1_024
/** A whole core: this is compression, and up to eight such segments at once. */
const BACKGROUND_MB = 1_769

export const functionSettings: Readonly<Record<FunctionName, FunctionSetting>> = {
  Push: {
    file: 'push.ts',
    description: 'PushPop: POST /queue/{id}/push',
    memoryMb: REQUEST_MB,
    timeoutSeconds: REQUEST_SECONDS,
  },
  Pop: {
    file: 'pop.ts',
    description: 'PushPop: POST /queue/{id}/pop',
    memoryMb: REQUEST_MB,
    timeoutSeconds: REQUEST_SECONDS,
    holdsCalls: true,
  },
  Settle: {
    file: 'settle.ts',
    description: 'PushPop: acknowledge, extend, release and dead-letter locks',
    memoryMb: REQUEST_MB,
    timeoutSeconds: REQUEST_SECONDS,
  },
  Inspect: {
    file: 'inspect.ts',
    description: 'PushPop: looks at queues, changes nothing',
    memoryMb: REQUEST_MB,
    timeoutSeconds: REQUEST_SECONDS,
  },
  Manage: {
    file: 'manage.ts',
    description: 'PushPop: configures and purges queues; cancels, moves and redrives items',
    memoryMb: REQUEST_MB,
    timeoutSeconds: REQUEST_SECONDS,
  },
  Rate: {
    file: 'rate.ts',
    description: 'PushPop: rate limits, and the lines of those who wait for their turn',
    memoryMb: REQUEST_MB,
    timeoutSeconds: REQUEST_SECONDS,
    holdsCalls: true,
  },
  ReturnExpiredLocks: {
    file: 'return-expired-locks.ts',
    description: 'PushPop: ends expired locks, on a schedule',
    memoryMb: BACKGROUND_MB,
    // Announces waiting items: their events may have been under way, or may have failed.
    afterLoss: { announce: {} },
    afterRestart: { announce: { consumersAreGone: true } },
    // A sweep: what came due while the stack was down, and schedules in code, need not wait for the first minute.
    atStart: {},
    // A finer sweep loops until the next run begins, and stops taking queues ten seconds before its
    // time is over.
    timeoutSeconds: 70,
  },
  Housekeep: {
    file: 'housekeep.ts',
    description:
      'PushPop: seals, offloads, recalls, trims and dead-letters, on the stream of the table',
    memoryMb: BACKGROUND_MB,
    // A batch of 100 queues with all that one run may do (144 segments at some 50 ms, two at once)
    // takes longer; the function reports queues that do not fit, and they come again.
    timeoutSeconds: 300,
  },
  Health: {
    file: 'health.ts',
    description: 'PushPop: GET /healthz, and the answer to routes that do not exist',
    memoryMb: 256,
    timeoutSeconds: 5,
  },
}

/**
 * How many environments a function may have at once. Lambda reserves that many for it, so all other functions
 * of the account have fewer; 100 of the account's (10 in a new account) cannot be reserved.
 */
export type Concurrency = Readonly<
  Partial<Record<FunctionName | Exclude<OptionalFunctionName, 'Wake'>, number>>
>

/** It exists only with events and serves no caller, so it is not among the others. */
export const announceSetting: FunctionSetting = {
  file: 'announce.ts',
  description: 'PushPop: puts what happened to queues on the event bus, on the stream of the table',
  // It compares two images of a record and waits for the bus: a quarter of a core is plenty.
  memoryMb: 512,
  // Ten chunks of ten entries, each tried for some seconds at worst; the rest is reported.
  timeoutSeconds: 60,
}

/** It exists only with an inbox. */
export const applyInboxSetting: FunctionSetting = {
  file: 'apply-inbox.ts',
  description: 'PushPop: applies what was pushed by way of the inbox, in order',
  // As much as a push: ten messages are one append, or ten side by side.
  memoryMb: REQUEST_MB,
  // An append that waits for a throttled table gives up after some seconds; messages that are left then come again.
  timeoutSeconds: 30,
}

/** It exists unless it is turned off. While nothing comes due soon, nothing calls it. */
export const wakeSetting: FunctionSetting = {
  file: 'wake.ts',
  description:
    'PushPop: stays awake while locks end or schedules are due soon, and comes to the second',
  // It mostly sleeps, and AWS bills its memory for that time. A page of 100 records that have grown far is
  // 10 MB, and five times that once it is read; half as much memory would not hold it.
  memoryMb: 256,
  // The run that was awake has ended with its stack, and nobody else may wait until its lease is over.
  afterRestart: { takesOver: true },
  // Another run takes over after two minutes; three calls may get lost before there is a gap.
  timeoutSeconds: 300,
}

/**
 * The functions of a service with an inbox, built separately: without an inbox, no function contains any of its
 * code. `PushInbox` replaces `Push`.
 */
export const inboxFiles = {
  PushInbox: 'push-inbox.ts',
  ApplyInbox: applyInboxSetting.file,
} as const

/** Built apart from the others: see functions.ts. */
export const announceFiles = { Announce: announceSetting.file } as const

/** Built apart as well: the limiter and the queues have little in common, and neither starts with the other. */
export const rateFiles = { Rate: functionSettings.Rate.file } as const

export const handlerFiles = Object.fromEntries(
  Object.entries({ ...functionSettings, Wake: wakeSetting })
    .filter(([name]) => name !== 'Rate')
    .map(([name, { file }]) => [name, file]),
) as Readonly<Record<Exclude<FunctionName, 'Rate'> | 'Wake', string>>

/** Which functions are built together: in these groups, bundling gives the same bytes everywhere. */
export const handlerGroups: readonly Readonly<Record<string, string>>[] = [
  handlerFiles,
  rateFiles,
  announceFiles,
  inboxFiles,
]

/** How the file of a consumer is bundled; esbuild's manual has the values of all but `sourceMap`. */
export type Bundling = {
  /** Packages to leave out: a layer brings them, or the runtime does. */
  readonly external?: readonly string[]
  /** Default: true. */
  readonly minify?: boolean
  /** Makes stack traces name your own files and lines. Default: true. */
  readonly sourceMap?: boolean
  /** Code that stands at the top of each file of the bundle. */
  readonly banner?: string
  /** Expressions to put in the place of names: `{ STAGE: '"test"' }`. */
  readonly define?: Readonly<Record<string, string>>
}
