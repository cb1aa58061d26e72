import type { Focus } from './focus.ts'

/** One deliberate fault: a text patch to the shipped code, and what must notice it. */
export type Mutant = {
  readonly name: string
  /**
   * What it breaks, in a few words. A number in front names what that endangers: `rule 7:` or `guarantee 6:` of
   * docs/architecture.md, or decision `0033`. Without one, the words are all there is.
   */
  readonly rule: string
  readonly edits: readonly Edit[]
  /** The cheapest first; the first that fails has killed it. */
  readonly killers: readonly Killer[]
}

type Edit = {
  /** From the root of the repository. */
  readonly file: string
  /**
   * Occurs exactly once in the file, however the file is formatted: white space and trailing commas
   * do not count. A patch that has lost its place fails the run.
   */
  readonly find: string
  readonly replace: string
}

export type Killer =
  /** Seeds of the simulation, one after the other until one fails; `focus` picks the worlds. */
  | {
      readonly kind: 'simulation'
      readonly seeds: number
      readonly from?: number
      readonly focus?: Focus
    }
  /** A test file; with `only`, the tests whose full names match that pattern. */
  | { readonly kind: 'test'; readonly file: string; readonly only?: string }

/** File, what to find in it, and what to put there instead. */
type Patch = readonly [file: string, find: string, replace: string]

/** A mutant as a row: its one patch, or a list of them, and then its killers. */
export const mutant = (
  name: string,
  rule: string,
  patches: Patch | readonly Patch[],
  ...killers: readonly Killer[]
): Mutant => {
  const list = typeof patches[0] === 'string' ? [patches as Patch] : (patches as readonly Patch[])
  return {
    name,
    rule,
    killers,
    edits: list.map(([file, find, replace]) => ({ file, find, replace })),
  }
}

export const simulation = (seeds: number, focus?: Focus): Killer => ({
  kind: 'simulation',
  seeds,
  ...(focus !== undefined && { focus }),
})

export const test = (file: string, only?: string): Killer => ({
  kind: 'test',
  file,
  ...(only !== undefined && { only }),
})

export function describeKiller(killer: Killer): string {
  switch (killer.kind) {
    case 'simulation': {
      const from = killer.from ?? 1
      return `simulation ${killer.focus ?? 'any'} ${from}+${killer.seeds}`
    }
    case 'test':
      return killer.only === undefined ? killer.file : `${killer.file} "${killer.only}"`
    default:
      return killer satisfies never
  }
}
