// The next time by croner, with the days that it passes over by itself.

type Calendar = { nextRun(after: Date): Date | null }

/** For `nextRunOf`, in the time zone of its calendar: when March begins. */
export const MARCH = '0 0 1 3 *'

/**
 * The first time after this one. In February croner looks for a 30th or 31st of it, lands in March, and goes on from
 * there: by `1,15,30` or every fifth day, the first of March would never come. A search that begins with March sees it.
 */
export function nextRunOf(
  cron: Calendar,
  { march, afterMs }: { readonly march: Calendar; readonly afterMs: number },
): number | undefined {
  const after = (ms: number) => (calendar: Calendar) => calendar.nextRun(new Date(ms))?.getTime()
  const nextMs = after(afterMs)(cron)
  const marchMs = after(afterMs)(march)
  if (nextMs === undefined || marchMs === undefined || nextMs <= marchMs) return nextMs
  return after(marchMs - 1_000)(cron)
}
