// The journal of a process that may die at any moment: it writes a line before each call that could have
// an effect, and a line after the answer. When `write` returns, the line is in the page cache, which
// survives a kill.

import { openSync, readdirSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { DeliveryAccounts } from '../../support/delivery-account.ts'

type PushedItem = { readonly name: string; readonly priority: number }
export type PoppedItem = { readonly name: string; readonly deliveries: number }

/** `call` numbers the calls of one process; an answer has the number of its call. */
export type Entry =
  | { readonly kind: 'intend'; readonly queue: string; readonly items: readonly PushedItem[] }
  | { readonly kind: 'pushed' }
  | { readonly kind: 'popping'; readonly queue: string; readonly acknowledge?: Settling }
  | {
      readonly kind: 'popped'
      readonly items: readonly PoppedItem[]
      readonly lockId?: string
      readonly exclusiveUntilMs?: number
      /** Whether the lock that it brought along is settled. */
      readonly acknowledged: boolean
    }
  | { readonly kind: 'acknowledging'; readonly queue: string; readonly settling: Settling }
  | { readonly kind: 'acknowledged' }
  | { readonly kind: 'releasing'; readonly queue: string; readonly lockId: string }
  | { readonly kind: 'released' }
  /** The answer was that nothing happened. */
  | { readonly kind: 'refused'; readonly code: string }
  | { readonly kind: 'fault'; readonly text: string }

export type Settling = { readonly lockId: string; readonly names: readonly string[] }

type Line = { readonly call: number; readonly at: number; readonly ms: number } & Entry

type Journal = {
  /** Returns the number of the call, for the entry of its answer. */
  write(entry: Entry, call?: number): number
}

export function openJournal(path: string): Journal {
  const file = openSync(path, 'a')
  let calls = 0
  return {
    write(entry, call = ++calls) {
      const at = Number(process.hrtime.bigint())
      writeSync(file, `${JSON.stringify({ call, at, ms: Date.now(), ...entry })}\n`)
      return call
    },
  }
}

type Journals = {
  readonly accounts: DeliveryAccounts
  readonly faults: readonly string[]
  readonly refused: Readonly<Record<string, number>>
}

export function readJournals(directory: string): Journals {
  const accounts = new DeliveryAccounts()
  const faults: string[] = []
  const refused: Record<string, number> = {}
  for (const name of readdirSync(directory)) {
    const { calls, answers } = readLines(join(directory, name))
    for (const [number, call] of calls) {
      const answer = answers.get(number)
      if (answer?.kind === 'fault') faults.push(`${name}: ${call.kind}: ${answer.text}`)
      if (answer?.kind === 'refused') {
        refused[answer.code] = (refused[answer.code] ?? 0) + 1
        continue
      }
      const isAnswered = answer !== undefined && answer.kind !== 'fault'
      const times = { calledAt: call.at, ...(isAnswered && { answeredAt: answer.at }) }
      switch (call.kind) {
        case 'intend':
          accounts.of(call.queue).pushes.push({ items: call.items, ...times })
          break
        case 'acknowledging':
          accounts.of(call.queue).acknowledgements.push({ ...call.settling, ...times })
          break
        case 'releasing':
          accounts.of(call.queue).releases.push({ lockId: call.lockId, calledAt: call.at })
          break
        case 'popping': {
          const popped = answer?.kind === 'popped' ? answer : undefined
          if (call.acknowledge && popped?.acknowledged !== false) {
            accounts.of(call.queue).acknowledgements.push({ ...call.acknowledge, ...times })
          }
          if (popped === undefined || popped.items.length === 0) break
          accounts.of(call.queue).pops.push({
            items: popped.items,
            calledAt: call.at,
            answeredAt: popped.at,
            answeredAtMs: popped.ms,
            ...(popped.lockId !== undefined && { lockId: popped.lockId }),
            ...(popped.exclusiveUntilMs !== undefined && {
              exclusiveUntilMs: popped.exclusiveUntilMs,
            }),
          })
          break
        }
        case 'fault':
          faults.push(`${name}: ${call.text}`)
          break
        case 'pushed':
        case 'popped':
        case 'acknowledged':
        case 'released':
        case 'refused':
          throw new Error(`Cannot read ${name} because a call is recorded as ${call.kind}`)
        default:
          call satisfies never
      }
    }
  }
  return { accounts, faults, refused }
}

function readLines(path: string): { calls: Map<number, Line>; answers: Map<number, Line> } {
  const calls = new Map<number, Line>()
  const answers = new Map<number, Line>()
  for (const text of readFileSync(path, 'utf8').split('\n')) {
    if (text === '') continue
    const line = JSON.parse(text) as Line
    const lines = calls.has(line.call) ? answers : calls
    lines.set(line.call, line)
  }
  return { calls, answers }
}
