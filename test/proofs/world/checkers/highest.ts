type Step = { readonly value: number; readonly fromCommit: number }

/** A number that changes with commits: the highest that it has been since any of them. */
export class Highest {
  /** Each less than the one before; the first counts from the beginning. */
  readonly #steps: Step[]

  constructor(first: number) {
    this.#steps = [{ value: first, fromCommit: 0 }]
  }

  set(value: number, commit: number): void {
    const steps = this.#steps
    let fromCommit = commit
    while (steps.length > 0 && (steps.at(-1) as Step).value <= value) {
      fromCommit = (steps.pop() as Step).fromCommit
    }
    // What was there before this commit counts until then.
    steps.push({ value, fromCommit })
  }

  since(commit: number): number {
    const step = this.#steps.findLast(({ fromCommit }) => fromCommit <= commit)
    return (step ?? (this.#steps[0] as Step)).value
  }
}
