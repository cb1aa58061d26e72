// The schedules of a deployment: puts those that it has, and deletes those of earlier deployments that it does not
// have. A row says which are left, so a sweeper that dies in between leaves the rest to its next run. Several sweepers
// may do this at once. Each step happens once, and only while no other deployment has begun: a sweeper with an older
// environment cannot undo what a newer one does, and what callers do to a schedule afterwards holds until the next
// change in the app.

import { changeRow } from '../../aws/change-row.ts'
import type { Row } from '../../aws/table.ts'
import { QueueError } from '../../shared/errors.ts'
import { deployedSchedulesKey } from '../core/keys.ts'
import type { DeployedResult, DeployedSchedule } from '../core/schedule.ts'
import { boundedBy, type Engine } from '../driver/engine.ts'
import { deploySchedule, type Fence, withdrawSchedule } from '../verbs/change-schedules.ts'

export type DeployedSchedules = {
  /** No earlier call had applied the whole deployment. */
  readonly isNew: boolean
  /** Something is left, because it failed or the time was up: call again. */
  readonly more: boolean
  readonly results: readonly DeployedResult[]
}

export interface DeployingVerbs {
  /**
   * If the hash is new, puts the schedules that a deployment brings, and deletes those that earlier deployments brought
   * and that no caller has changed.
   */
  deploySchedules(
    schedules: readonly DeployedSchedule[],
    hash: string,
    /** We send nothing after this time. */
    request?: { readonly deadlineMs?: number | undefined },
  ): Promise<DeployedSchedules>
}

type Pass = {
  readonly engine: Engine
  readonly revision: number
  readonly wanted: ReadonlyMap<string, DeployedSchedule>
}

/** If its hash is not new, goes on with what is left. Stops at the deadline; the next run does the rest. */
export async function deploySchedules(
  unbounded: Engine,
  schedules: readonly DeployedSchedule[],
  hash: string,
  { deadlineMs = Number.POSITIVE_INFINITY }: { readonly deadlineMs?: number | undefined } = {},
): Promise<DeployedSchedules> {
  const engine = boundedBy(unbounded, deadlineMs)
  const wanted = new Map(schedules.map((schedule) => [nameOf(schedule), schedule]))
  const row = await begin(engine, wanted, hash)
  const left = [...(row?.names ?? [])].flatMap(([name, at]) => (at === 'left' ? [name] : []))
  if (row === undefined || left.length === 0) return { isNew: false, more: false, results: [] }
  const pass = { engine, revision: row.revision, wanted }
  const results: DeployedResult[] = []
  for (const name of inTurn(pass, left)) {
    if (engine.clock.nowMs() >= deadlineMs) break
    const result = await step(pass, name)
    const isCutOff = result.result === 'failed' && engine.clock.nowMs() >= deadlineMs
    // The others used up its time, so it waits for the next run. A step that had all of the time has failed.
    if (isCutOff && results.length > 0) break
    results.push(result)
    if (result.result === 'failed' && isRefused(result.error)) break
  }
  const isDone = ({ result }: DeployedResult): boolean => result !== 'failed'
  return { isNew: true, more: results.filter(isDone).length < left.length, results }
}

/**
 * Deletions come first, because a queue has room for a limited number. We start at a random place: a step that uses up
 * all of the time, run after run, must not always keep the same others from their turn.
 */
function inTurn({ engine, wanted }: Pass, left: readonly string[]): readonly string[] {
  const start = Math.floor(engine.random() * left.length)
  const turned = [...left.slice(start), ...left.slice(0, start)]
  return turned.sort((a, b) => Number(wanted.has(a)) - Number(wanted.has(b)))
}

async function step(pass: Pass, name: string): Promise<DeployedResult> {
  const { engine, revision, wanted } = pass
  const schedule = wanted.get(name)
  const place = parseName(name)
  const isGone = schedule === undefined
  const fence: Fence = {
    write: {
      Update: {
        TableName: engine.dynamo.tableName,
        Key: deployedSchedulesKey,
        ...settled(revision, name, isGone),
      },
    },
    refused,
  }
  try {
    const result = isGone
      ? await withdrawSchedule(engine, place, fence)
      : await deploySchedule(engine, schedule, fence)
    const isWritten = ['put', 'replaced', 'deleted'].includes(result.result)
    if (!isWritten) await settle(engine, revision, name, isGone)
    return result
  } catch (error) {
    if (isRefused(error) && (await isDoneByAnother(pass, name).catch(() => false))) {
      return { ...place, result: isGone ? 'gone' : 'as_it_was' }
    }
    return { ...place, result: 'failed', error }
  }
}

/** Whether another sweeper of this deployment has done this step, or our own first try, whose answer was lost. */
async function isDoneByAnother({ engine, revision }: Pass, name: string): Promise<boolean> {
  const row = decodeDeployedSchedules(await engine.dynamo.get(deployedSchedulesKey, true))
  return row?.revision === revision && row.names.get(name) !== 'left'
}

/** Several sweepers of one deployment may start at once and meet here. */
const ATTEMPTS_MAX = 5

/** The row for this deployment; undefined if none was ever needed. */
async function begin(
  engine: Engine,
  wanted: ReadonlyMap<string, DeployedSchedule>,
  hash: string,
): Promise<DeployedSchedulesRow | undefined> {
  return changeRow<DeployedSchedulesRow | undefined, DeployedSchedulesRow | undefined>(
    engine.dynamo,
    {
      key: deployedSchedulesKey,
      versions: ['r'],
      attemptsMax: ATTEMPTS_MAX,
      decode: decodeDeployedSchedules,
      decide(before) {
        if (before?.hash === hash) return { answer: before }
        if (before === undefined && wanted.size === 0) return { answer: undefined }
        const names = [...(before?.names.keys() ?? []), ...wanted.keys()]
        const answer: DeployedSchedulesRow = {
          revision: (before?.revision ?? 0) + 1,
          hash,
          names: new Map(names.map((name) => [name, 'left'])),
        }
        return { answer, row: encode(answer) }
      },
      pause: (attempt) => engine.records.pause(attempt),
      busy: (cause) =>
        new QueueError('BUSY', 'Cannot begin to deploy schedules; the next sweep tries again', {
          cause,
        }),
    },
  )
}

/** Notes that a schedule is as it should be. If the answer is lost, the next run finds that out again. */
async function settle(
  engine: Engine,
  revision: number,
  name: string,
  isDeleted: boolean,
): Promise<void> {
  const written = await engine.dynamo.update(
    deployedSchedulesKey,
    settled(revision, name, isDeleted),
  )
  if (written.kind === 'failed') throw refused()
  if (written.kind === 'unknown') throw written.cause
}

const refused = (): QueueError =>
  new QueueError('VERSION_MISMATCH', 'Another deployment of schedules has begun')

const isRefused = (error: unknown): boolean =>
  error instanceof QueueError && error.code === 'VERSION_MISMATCH'

/** Which schedules deployments have put, and how far the last deployment has come. */
type DeployedSchedulesRow = {
  /** Each deployment with other schedules adds one. */
  readonly revision: number
  /** The hash of that deployment's schedules. */
  readonly hash: string
  /** The schedules that it has, and those that earlier deployments put: each must be put or deleted once. */
  readonly names: ReadonlyMap<string, 'left' | 'done'>
}

type Stored = {
  readonly r: number
  readonly h: string
  readonly n: Readonly<Record<string, 'l' | 'd'>>
}

function decodeDeployedSchedules(row: Row | undefined): DeployedSchedulesRow | undefined {
  if (row === undefined) return undefined
  const { r, h, n } = row as Stored
  const names = Object.entries(n).map(([name, at]) => [name, at === 'l' ? 'left' : 'done'] as const)
  return { revision: r, hash: h, names: new Map(names) }
}

const encode = ({ revision, hash, names }: DeployedSchedulesRow): Row => ({
  ...deployedSchedulesKey,
  r: revision,
  h: hash,
  n: Object.fromEntries([...names].map(([name, at]) => [name, at === 'left' ? 'l' : 'd'])),
})

/**
 * Marks this schedule as done; if it was deleted, removes its name. Passes only while no other deployment has begun and
 * no other process has done it, so that changes that callers make after that hold.
 */
const settled = (revision: number, name: string, isDeleted: boolean) => ({
  UpdateExpression: isDeleted ? 'REMOVE n.#n' : 'SET n.#n=:done',
  ConditionExpression: 'r=:r AND n.#n=:left',
  ExpressionAttributeNames: { '#n': name },
  ExpressionAttributeValues: { ':r': revision, ':left': 'l', ...(!isDeleted && { ':done': 'd' }) },
})

/** `orders/weekly`: no queue id has a slash. */
const nameOf = ({ queue, name }: { readonly queue: string; readonly name: string }) =>
  `${queue}/${name}`

function parseName(text: string): { readonly queue: string; readonly name: string } {
  const slash = text.indexOf('/')
  return { queue: text.slice(0, slash), name: text.slice(slash + 1) }
}
