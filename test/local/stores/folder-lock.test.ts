import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const lockFile = join(import.meta.dirname, '../../../local/stores/folder.ts')

let directory: string
const children: ChildProcess[] = []
beforeEach(() => {
  directory = temporaryFolder()
})
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

/** Another process that wants the folder for this owner, and what it says about it. */
function contender(pid: number) {
  const script = `
    import { lockFolder } from ${JSON.stringify(lockFile)}
    setInterval(() => {}, 1000)
    lockFolder(${JSON.stringify(directory)}, { pid: ${pid}, url: 'http://localhost:${pid}' })
      .then(() => console.log('has it'), (error) => console.log(error.message))
    console.log('asks')`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  const says = async (what: string) => {
    while (!said.includes(what)) await once(child.stdout, 'data')
    return said
  }
  return { child, says }
}

/** The id of a process that is no more. */
async function deadPid() {
  const child = spawn(process.execPath, ['--eval', ''])
  await once(child, 'exit')
  return child.pid ?? 0
}

describe('a data folder', () => {
  test('is had by one only, and the other learns by whom', async () => {
    await contender(process.pid).says('has it')
    expect(await contender(1).says('Cannot')).toContain(
      `another stack (process ${process.pid}, http://localhost:${process.pid}) uses it`,
    )
  })

  test('is waited for if its owner is gone and its host still cleans up', async () => {
    const first = contender(await deadPid())
    await first.says('has it')
    const second = contender(process.pid)
    await second.says('asks')
    first.child.kill('SIGKILL')
    expect(await second.says('has it')).not.toContain('Cannot')
  })

  test('is free when its holder is gone, whatever it left behind', async () => {
    writeFileSync(join(directory, 'owner.json'), '{"pid":')
    const first = contender(process.pid)
    await first.says('has it')
    first.child.kill('SIGKILL')
    await once(first.child, 'exit')
    expect(await contender(process.pid).says('has it')).not.toContain('Cannot')
  })
})
