// What we have each of the compared queues do, following its own documentation, and what their adapters share. Their
// packages are not dependencies of ours.

import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

/** Called with each item that a consumer was handed, in the order in which it got them. */
export type OnItem = (tenant: string, text: string) => void

export type Peer = {
  /** One call that adds these to one queue. */
  push(queue: string, texts: readonly string[]): Promise<void>
  /** One consumer takes and settles all of them, `batch` at a time. Answers how long each batch took, in ms. */
  drain(queue: string, items: number, batch: number, onItem: OnItem): Promise<readonly number[]>
  /** Prepares for pushes by many tenants. */
  openTenants(tenants: readonly string[]): Promise<void>
  pushTo(tenant: string, texts: readonly string[]): Promise<void>
  /** Takes and settles all of them, many tenants at once, each in strict order. */
  drainTenants(tenants: readonly string[], items: number, onItem: OnItem): Promise<void>
  /** Has consumers wait for items of every tenant, until it is ended. */
  wait(tenants: readonly string[]): Promise<() => Promise<void>>
  /** Not measured: work left by the previous part, and what the server does by itself every minute or so. */
  tidy?(): Promise<void>
  /** Requests that reached its server so far. */
  requests(): Promise<number>
  stop(): Promise<void>
}

/** A peer that we measure only with one queue and single items. */
export type SinglePeer = Pick<Peer, 'push' | 'drain' | 'tidy' | 'stop'>

/** How many tenants to serve at once, if the peer lets us choose. */
export const AT_ONCE = 32

type Stores = { readonly dynamodbEndpoint: string; readonly s3Endpoint: string }

export type Addresses = {
  readonly postgres?: { readonly port: number; readonly pid: number }
  readonly redis?: { readonly port: number; readonly pid: number }
  /** On disk, as the peers' servers are. */
  readonly stores?: Stores
  readonly storesInMemory?: Stores
  readonly url?: string
}

/** A promise that ends when so many items have come, and how long each took after the one before. */
export function countdown(items: number) {
  const { promise, resolve } = Promise.withResolvers<void>()
  const durationsMs: number[] = []
  let left = items
  let lastMs = performance.now()
  return {
    promise,
    durationsMs,
    came() {
      const nowMs = performance.now()
      durationsMs.push(nowMs - lastMs)
      lastMs = nowMs
      left -= 1
      if (left === 0) resolve()
    },
  }
}

/** Calls `act` for each, `atOnce` at a time. */
export async function eachOf<T>(
  all: readonly T[],
  atOnce: number,
  act: (one: T) => Promise<void>,
): Promise<void> {
  const left = all.values()
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const one of left) await act(one)
    }),
  )
}

const folder = join(import.meta.dirname, 'packages')

/** The peers' packages are not dependencies of ours: the first run installs them into a separate folder. */
export function installPackages(): void {
  if (existsSync(join(folder, 'node_modules/pg-boss'))) return
  execFileSync(
    'npm',
    ['install', '--no-package-lock', '--no-audit', '--no-fund', '--ignore-scripts'],
    {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'inherit'],
      shell: process.platform === 'win32',
    },
  )
}

/** We name what we use of each package beside its use: their own types are not installed with ours. */
export const load = createRequire(join(folder, 'package.json')) as <T>(name: string) => T
