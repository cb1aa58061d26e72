// The smallest base that debootstrap makes, of this machine's own release and from where this machine has its packages.

import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, chmodSync, cpSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A user without rights. */
export const user = { name: 'tester', id: 1000, home: '/home/tester' } as const

export async function makeRoot(folder: string): Promise<void> {
  // The last file that we write.
  if (existsSync(join(folder, user.home))) return
  const { mirror, suite } = source()
  const child = spawn('debootstrap', ['--variant=minbase', suite, folder, mirror], {
    env: { ...process.env, ...proxies() },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`Cannot make a bare machine because debootstrap failed:\n${said}`)
  // A temporary folder is its owner's alone; inside, it is the root of everybody.
  chmodSync(folder, 0o755)
  for (const name of ['/etc/hosts', '/etc/resolv.conf']) {
    cpSync(name, join(folder, name), { dereference: true })
  }
  const { name, id, home } = user
  appendFileSync(join(folder, 'etc/passwd'), `${name}:x:${id}:${id}::${home}:/bin/sh\n`)
  appendFileSync(join(folder, 'etc/group'), `${name}:x:${id}:\n`)
  execFileSync('install', ['-d', '-o', String(id), '-g', String(id), join(folder, home)])
}

function source(): { readonly mirror: string; readonly suite: string } {
  const release = readFileSync('/etc/os-release', 'utf8')
  const suite = /^VERSION_CODENAME=(.*)$/m.exec(release)?.[1] ?? ''
  const format = '$(CODENAME) $(REPO_URI)'
  const targets = said('apt-get', 'indextargets', '--format', format, 'Created-By: Packages')
  const uri = targets
    .split('\n')
    .find((line) => line.startsWith(`${suite} `))
    ?.split(' ')[1]
  if (!uri) {
    throw new Error(`Cannot make a bare machine because apt has no source of "${suite}"`)
  }
  const [, list] = /^mirror\+file:(.*?)\/?$/.exec(uri) ?? []
  const mirror = list ? (readFileSync(list, 'utf8').split(/\s/)[0] ?? '') : uri
  return { mirror, suite }
}

/** apt's own, unless the environment names some. */
function proxies(): Record<string, string> {
  const found = ['http', 'https'].map((scheme) => {
    const setting = `Acquire::${scheme}::Proxy`
    return [
      `${scheme}_proxy`,
      process.env[`${scheme}_proxy`] ??
        said('apt-config', 'dump', '--no-empty', '--format', '%v', setting),
    ]
  })
  return Object.fromEntries(found.filter(([, proxy]) => proxy !== ''))
}

const said = (program: string, ...args: readonly string[]): string =>
  execFileSync(program, args, { encoding: 'utf8' }).trim()
