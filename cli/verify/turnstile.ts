/** Lets this many works run at once; the others wait in order of arrival. */
export function turnstile(atOnce: number): <R>(work: () => Promise<R>) => Promise<R> {
  let free = atOnce
  const waiting: (() => void)[] = []
  return async (work) => {
    if (free > 0) free -= 1
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      // Handed over without a gap in which a third could slip in.
      if (next === undefined) free += 1
      else next()
    }
  }
}
