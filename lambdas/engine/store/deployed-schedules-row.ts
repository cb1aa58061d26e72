import type { Row } from '../../foundation/table.ts'
import { deployedSchedulesKey } from '../core/keys.ts'
import type { RowWrite } from './schedule-rows.ts'

/** Which schedules deployments have put, and how far the last deployment has come. */
export type DeployedSchedulesRow = {
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

/** `orders/weekly`: no queue id has a slash. */
export const nameOf = ({ queue, name }: { readonly queue: string; readonly name: string }) =>
  `${queue}/${name}`

export function parseName(text: string): { readonly queue: string; readonly name: string } {
  const slash = text.indexOf('/')
  return { queue: text.slice(0, slash), name: text.slice(slash + 1) }
}

export function decodeDeployedSchedules(row: Row | undefined): DeployedSchedulesRow | undefined {
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

/** A new deployment begins, on condition that no other has begun since we read the row. */
export const beginning = (
  before: DeployedSchedulesRow | undefined,
  after: DeployedSchedulesRow,
) => ({
  Item: encode(after),
  ...(before === undefined
    ? { ConditionExpression: 'attribute_not_exists(pk)' }
    : {
        ConditionExpression: 'r=:seen',
        ExpressionAttributeValues: { ':seen': before.revision },
      }),
})

/**
 * Marks this schedule as done; if it was deleted, removes its name. Passes only while no other deployment has begun and
 * no other process has done it, so that changes that callers make after that hold.
 */
export const settled = (revision: number, name: string, isDeleted: boolean) => ({
  UpdateExpression: isDeleted ? 'REMOVE n.#n' : 'SET n.#n=:done',
  ConditionExpression: 'r=:r AND n.#n=:left',
  ExpressionAttributeNames: { '#n': name },
  ExpressionAttributeValues: { ':r': revision, ':left': 'l', ...(!isDeleted && { ':done': 'd' }) },
})

export const settledWrite = (TableName: string, ...of: Parameters<typeof settled>): RowWrite => ({
  Update: { TableName, Key: deployedSchedulesKey, ...settled(...of) },
})
