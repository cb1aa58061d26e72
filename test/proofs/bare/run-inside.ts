import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { ofNetwork } from './add-node.ts'
import { user } from './make-root.ts'

/**
 * In namespaces of its own for mounts and processes: when this ends, however it ends, the kernel ends all that runs
 * inside and takes /proc away again.
 */
const enter = [
  '--mount',
  '--pid',
  '--fork',
  '--kill-child',
  'sh',
  '-c',
  'mount -t proc proc "$0/proc" && exec chroot --userspec="$1" "$0" /usr/local/bin/node "$2" "$3"',
]

/** What `inside.mjs` ends with: 0 if all went well. */
export async function runInside(root: string, tests: readonly string[]): Promise<number> {
  const owner = `${user.id}:${user.id}`
  const args = [...enter, root, owner, join(user.home, 'inside.mjs'), JSON.stringify(tests)]
  const child = spawn('unshare', args, {
    env: {
      ...ofNetwork(),
      HOME: user.home,
      USER: user.name,
      PATH: '/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => child.kill('SIGKILL'))
  }
  const [code] = await once(child, 'close')
  return code ?? 1
}
