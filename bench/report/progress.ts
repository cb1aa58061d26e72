/** One line that changes on a terminal; elsewhere one line a scenario. */
export function createProgress(output: NodeJS.WriteStream) {
  const live = output.isTTY === true
  let title = ''
  let shownMs = 0

  function show(text: string) {
    const width = (output.columns ?? 80) - 1
    output.write(`\r\x1b[2K${text.slice(0, width)}`)
  }
  return {
    start(name: string, place: string) {
      title = `${place} ${name}`
      shownMs = 0
      if (live) show(title)
    },
    update(text: string) {
      const nowMs = performance.now()
      if (!live || nowMs - shownMs < 100) return
      shownMs = nowMs
      show(`${title} · ${text}`)
    },
    finish(outcome: string) {
      if (live) output.write('\r\x1b[2K')
      output.write(`${title} · ${outcome}\n`)
    },
  }
}
