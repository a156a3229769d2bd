// Operations by JGit, one after another; see with_git.sh.
import java.io.File;
import java.util.ArrayList;
import java.util.List;
import org.eclipse.jgit.api.Git;
import org.eclipse.jgit.transport.PushResult;
import org.eclipse.jgit.transport.RefSpec;
import org.eclipse.jgit.transport.RemoteRefUpdate;

public class WithJGit {
	static void clone(String url, String dir) throws Exception {
		Git.cloneRepository().setURI(url)
			.setDirectory(new File(dir)).call().close();
	}

	static void fetch(String dir, String url, String spec)
			throws Exception {
		try (Git git = Git.open(new File(dir))) {
			git.fetch().setRemote(url)
				.setRefSpecs(new RefSpec(spec)).call();
		}
	}

	static void push(String dir, String url, List<String> specs)
			throws Exception {
		boolean refused = false;
		List<RefSpec> refs = new ArrayList<>();
		for (String spec : specs)
			refs.add(new RefSpec(spec));
		try (Git git = Git.open(new File(dir))) {
			for (PushResult result : git.push().setRemote(url)
					.setRefSpecs(refs).call()) {
				System.out.println(result.getMessages());
				for (RemoteRefUpdate one
						: result.getRemoteUpdates()) {
					System.out.println(one);
					refused |= one.getStatus()
						!= RemoteRefUpdate.Status.OK;
				}
			}
		}
		if (refused)
			throw new Exception("a ref was refused");
	}

	static void run(List<String> words) {
		try {
			switch (words.get(0)) {
			case "clone":
				clone(words.get(1), words.get(2));
				break;
			case "fetch":
				fetch(words.get(1), words.get(2), words.get(3));
				break;
			default:
				push(words.get(1), words.get(2),
					words.subList(3, words.size()));
			}
			System.out.println("exit 0");
		} catch (Exception error) {
			System.out.println(error + "\nexit 1");
		}
	}

	public static void main(String[] args) {
		List<String> words = new ArrayList<>();
		for (String word : args) {
			if (!word.equals("--")) {
				words.add(word);
				continue;
			}
			run(words);
			words = new ArrayList<>();
		}
		run(words);
	}
}
