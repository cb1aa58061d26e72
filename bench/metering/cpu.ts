/** Milliseconds of CPU that this process used meanwhile. */
export async function cpuMs(action: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage()
  await action()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
