"""A chain of LangChain that answers from a user's memory."""

from __future__ import annotations

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnablePassthrough

from episodica import MemorySystem
from episodica.adapters.langchain import EpisodicaRetriever

# A scripted model; put your own here.
model = GenericFakeChatModel(messages=iter([AIMessage("Her dog is called Pickle.")]))

with MemorySystem("memories") as memory:
    memory.add_messages(
        "alice",
        [
            {"role": "user", "content": "I moved to Lyon last Friday."},
            {"role": "user", "content": "My dog Pickle is afraid of the lift."},
        ],
    )
    retriever = EpisodicaRetriever(memory=memory, user_id="alice", kinds=["message"], k=1)
    for document in retriever.invoke("What is the dog called?"):
        print(document.metadata["kind"], "-", document.page_content)

    prompt = ChatPromptTemplate.from_template("Remembered: {context}\nQuestion: {question}")
    chain = (
        {"context": retriever, "question": RunnablePassthrough()}
        | prompt
        | model
        | StrOutputParser()
    )
    print(chain.invoke("What is the dog called?"))
