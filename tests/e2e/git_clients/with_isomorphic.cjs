// Operations by isomorphic-git, one after another; see with_git.sh. It pushes
// one ref at a time.
const fs = require("fs");
const git = require("isomorphic-git");
const http = require("isomorphic-git/http/node");

const onMessage = text => process.stdout.write(text + "\n");
const operations = {
	clone: (url, dir) => git.clone({ fs, http, dir, url, onMessage }),
	fetch: async (dir, url, spec) => {
		const [from, to] = spec.split(":");
		const { fetchHead } = await git.fetch({
			fs, http, dir, url, ref: from, remoteRef: from,
			singleBranch: true, onMessage });
		await git.writeRef({ fs, dir, ref: to, value: fetchHead,
			force: true });
	},
	push: async (dir, url, ...specs) => {
		for (const spec of specs) {
			const [from, to] = spec.split(":");
			await git.push({ fs, http, dir, url, ref: from,
				remoteRef: to, onMessage });
		}
	},
};

async function main() {
	let words = [];
	for (const word of [...process.argv.slice(2), "--"]) {
		if (word !== "--") {
			words.push(word);
			continue;
		}
		try {
			await operations[words[0]](...words.slice(1));
			console.log("exit 0");
		} catch (error) {
			console.log(`${error.message}\nexit 1`);
		}
		words = [];
	}
}

main();
