// Other processes, as /proc shows them: a bare machine has no `ps`.

import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'

export const hasProc = existsSync('/proc/self/stat')

/** Every process below this one, children of children too. */
export function descendantsOf(pid: number): number[] {
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && statOf(Number(name))?.parent === pid)
    .map(Number)
  return [...children, ...children.flatMap(descendantsOf)]
}

/** A process that has ended stays in the list until its parent asks how; some parents never ask. */
export function isAlive(pid: number): boolean {
  const stat = statOf(pid)
  return stat !== undefined && !stat.state.startsWith('Z')
}

/** What a process does: `T` is stopped, `Z` has ended. */
export const stateOf = (pid: number): string => statOf(pid)?.state ?? ''

function statOf(pid: number): { readonly state: string; readonly parent: number } | undefined {
  try {
    const [state = '', parent] = hasProc ? byProc(pid) : byPs(pid)
    return { state, parent: Number(parent) }
  } catch {
    return undefined
  }
}

// "12 (a name) S 1 ...": the name may hold anything, so read from its last bracket.
const byProc = (pid: number) =>
  readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []

const byPs = (pid: number) =>
  execFileSync('ps', ['-o', 'stat=,ppid=', '-p', String(pid)], { encoding: 'utf8' })
    .trim()
    .split(/\s+/)
